import { sourcesOfTensors } from '../../../core/plan/operands.js';
import type { StoredTensor } from '../../../core/tensor/stored-tensor.js';
import type { BatchMerge } from './batch-merge.js';
import type { BatchPlan } from './batch-plan.js';
import type { ShardGroup } from './groups.js';
import type { Part } from './part.js';

export const sourcesIn = (groups: readonly ShardGroup[]): StoredTensor[] =>
  groups.flatMap(({ shards }) => shards.flatMap(({ tensors }) => sourcesOfTensors(tensors)));

export const linkedIn = (
  { merges }: Pick<BatchPlan<BatchMerge>, 'merges'>,
  range?: Part,
): ReadonlySet<string> =>
  new Set(
    range === undefined
      ? merges.flatMap(({ shards }) => shards.flatMap(({ verbatim }) => verbatim ?? []))
      : [],
  );
