import { LayerloomError } from '../../../core/base/errors/errors.js';
import type { BatchMerge } from './batch-merge.js';
import { type BatchPlan, groupsOf } from './batch-plan.js';
import type { ShardGroup } from './groups.js';

/** Part `index` (from 0) of `count`. */
export interface Part {
  readonly index: number;
  readonly count: number;
}

export const checkPart = ({ index, count }: Part): void => {
  if (!(Number.isSafeInteger(index) && Number.isSafeInteger(count) && index >= 0 && index < count))
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'part',
      value: `${index}/${count}`,
      expected: 'i/n with i from 0 to n − 1',
    });
};

/**
 * Returns the keys in a part, or all keys. Groups go, largest first, to the part with the fewest bytes.
 * Existing shards are divided too, so that parts that start at different times agree.
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
