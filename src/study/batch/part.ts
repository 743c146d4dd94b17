import { LayerloomError } from '../../core/base/errors.js';
import type { BatchMerge } from './batch-merge.js';
import { type BatchPlan, groupsOf } from './batch-plan.js';
import type { ShardGroup } from './groups.js';

/** The `index`-th of `count` parts of a batch, from 0 on. */
export interface Part {
  readonly index: number;
  readonly count: number;
}

/** @throws LayerloomError INVALID_PARAMETER unless it is one of its parts */
export const checkPart = ({ index, count }: Part): void => {
  if (!(Number.isSafeInteger(index) && Number.isSafeInteger(count) && index >= 0 && index < count))
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'part',
      value: `${index}/${count}`,
      expected: 'i/n with i from 0 to n − 1',
    });
};

/**
 * Returns the keys of a part's shards, or all keys if there is no part. Parts are of about equal size by
 * greedy scheduling: each group, largest first, goes to the part with the fewest bytes. Shards that are in
 * the store are divided too, so that parts which begin at different times agree on the division.
 */
export const keysOfPart = (
  plan: BatchPlan<BatchMerge>,
  part: Part | undefined,
): { has(key: string): boolean } => {
  if (part === undefined) return plan.shards;
  const bytes = ({ shards }: ShardGroup) => shards.reduce((total, shard) => total + shard.bytes, 0);
  const loads = Array.from({ length: part.count }, () => 0);
  const mine = new Set<string>();
  for (const group of groupsOf(plan, () => true).sort((a, b) => bytes(b) - bytes(a))) {
    const load = Math.min(...loads);
    const least = loads.indexOf(load);
    loads[least] = load + bytes(group);
    if (least === part.index) for (const { key } of group.shards) mine.add(key);
  }
  return mine;
};
