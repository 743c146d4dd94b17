import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { groupBy, valueAt } from '../../../core/base/errors/lookup.js';
import { matches } from '../../../core/methods/framework/match-names.js';
import { sourcesOf } from '../../../core/plan/operands.js';
import { idByPath } from '../../../core/tensor/stored-tensor.js';
import type { BatchMerge } from './batch-merge.js';
import type { BatchPlan, PlannedMerge } from './batch-plan.js';
import { type DistinctShard, groupShards, type ShardGroup } from './groups.js';
import type { MergeShard } from './merge-shards.js';

/** Merges to finish before the next stage begins. */
export interface Stage<M extends BatchMerge> {
  readonly merges: readonly PlannedMerge<M>[];
  /** Groups of shards that no earlier stage makes. A merge without such shards joins the previous stage. */
  readonly groups: readonly ShardGroup[];
  readonly bytesToWrite: number;
}

/**
 * Orders merges in stages, each reading an input byte once. Merges named by `first` come first. Then, by entry and
 * language, come merges of mostly copied layers and shared averages. All other merges, such as soups, are last.
 *
 * @param isWanted selects the shards to make, without changing the order
 * @param first patterns of names, in which `*` stands for any text, most urgent first
 * @throws INVALID_PARAMETER if a pattern matches no merge
 */
export const stagesOf = <M extends BatchMerge>(
  plan: Pick<BatchPlan<M>, 'merges' | 'shards' | 'inputs'>,
  isWanted: (key: string) => boolean,
  first: readonly string[] = [],
): Stage<M>[] => {
  const idOf = idByPath(plan.inputs);
  const made = new Set<string>();
  const stages: (Stage<M> & { readonly merges: PlannedMerge<M>[] })[] = [];
  for (const merges of ordered(plan, first)) {
    const shards: DistinctShard[] = [];
    for (const { key } of shardsOf(merges)) {
      const shard = plan.shards.get(key);
      if (shard === undefined || made.has(key) || !isWanted(key)) continue;
      made.add(key);
      shards.push(shard);
    }
    const bytesToWrite = shards.reduce((total, { bytes }) => total + bytes, 0);
    const last = stages.at(-1);
    if (shards.length > 0)
      stages.push({ merges: [...merges], groups: groupShards(shards, idOf), bytesToWrite });
    else if (last !== undefined) for (const merge of merges) last.merges.push(merge);
  }
  return stages;
};

/** Yields shards; an array would have merges × layers entries. */
function* shardsOf(merges: readonly PlannedMerge<BatchMerge>[]): Generator<MergeShard> {
  for (const { shards } of merges) yield* shards;
}

const ordered = <M extends BatchMerge>(
  plan: Pick<BatchPlan<M>, 'merges' | 'shards'>,
  first: readonly string[],
): (readonly PlannedMerge<M>[])[] => {
  let left = plan.merges;
  const urgent = first.map((pattern) => {
    const isNamed = ({ merge }: PlannedMerge<M>) => matches(merge.name, pattern);
    if (!plan.merges.some(isNamed))
      throw invalidParameter(
        'first',
        pattern,
        `names of merges, in which * is any text, such as ${plan.merges[0]?.merge.name}`,
      );
    const named = left.filter(isNamed);
    left = left.filter((merge) => !isNamed(merge));
    return named;
  });
  const units = [...groupBy(left, ({ merge }) => `${merge.entry} ${merge.language}`).values()];
  const isLight = lightIn(plan);
  const light = new Set(units.filter(isLight));
  return [...urgent, ...light, units.filter((unit) => !light.has(unit)).flat()];
};

/**
 * Returns a predicate for merges whose layers are mostly copied or shared. Other tensors do not count,
 * because every merge of two models averages them.
 */
const lightIn = <M extends BatchMerge>({ shards }: Pick<BatchPlan<M>, 'shards'>) => {
  const layers = new Map([...shards].map(([key, shard]) => [key, layerBytes(shard)]));
  /** Shards of earlier merges whose layers are mostly copied. */
  let made = new Set<string>();
  return (merges: readonly PlannedMerge<M>[]): boolean => {
    const seen = new Set(made);
    let [blended, all] = [0, 0];
    for (const { key, bytes, verbatim } of shardsOf(merges)) {
      const found = verbatim === undefined ? valueAt(layers, key) : { blended: 0, all: bytes };
      all += found.all;
      if (!seen.has(key)) blended += found.blended;
      seen.add(key);
    }
    const isLight = 2 * blended <= all;
    if (isLight) made = seen;
    return isLight;
  };
};

const layerBytes = ({ tensors }: DistinctShard): { readonly blended: number; readonly all: number } => {
  let [blended, all] = [0, 0];
  for (const { layer, begin, end, expression } of tensors) {
    if (layer === null) continue;
    all += end - begin;
    if (new Set(sourcesOf(expression).map(({ input }) => input)).size > 1) blended += end - begin;
  }
  return { blended, all };
};
