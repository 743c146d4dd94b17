import { itemAt } from '../../../core/base/errors/lookup.js';
import type { StatisticsOptions } from '../../../core/measure/analysis/statistics.js';
import { allRecipes, mergedModels } from '../../../core/methods/recipe/recipe.js';
import { passesOf } from '../../../core/plan/operands.js';
import { storedBytes } from '../../../core/tensor/reference.js';
import { bytesOfSources } from '../../../core/tensor/stored-tensor.js';
import type { BatchMerge } from './batch-merge.js';
import { type BatchPlan, groupsOf } from './batch-plan.js';
import type { ShardGroup } from './groups.js';
import { passOf } from './measure-merges.js';
import type { Stage } from './stages.js';

/** The cost of a batch. */
export interface BatchCost {
  readonly merges: number;
  /** Total bytes if each merge were written by itself. */
  readonly bytesPlain: number;
  readonly bytesDistinct: number;
  /** Bytes of the missing shards. */
  readonly bytesToWrite: number;
  /** Input bytes to read, without statistics, counted once per stage. */
  readonly bytesToRead: number;
  /**
   * Bytes to read for statistics of whole models and tensors, without the sample and second pass for magnitudes.
   */
  readonly bytesToMeasure: number;
  /** Bytes of `bytesToRead` that several stages read: the price of finishing the first merges early. */
  readonly bytesReadAgain: number;
  readonly bytesVerbatim: number;
  readonly shards: number;
  readonly shardsToWrite: number;
  /** Estimate for a disk of 1 GB/s. */
  readonly seconds: number;
}

/** Assumed bytes written per second. Reading is assumed to be twice as fast. */
const assumedRate = 1e9;

export const costOf = (
  plan: BatchPlan<BatchMerge>,
  stages: readonly Stage<BatchMerge>[],
  { analysis }: StatisticsOptions = {},
): BatchCost => {
  const groups = stages.flatMap((stage) => stage.groups);
  const toWrite = groups.flatMap(({ shards }) => shards);
  const keys = new Set(toWrite.map(({ key }) => key));
  const bytesToWrite = stages.reduce((total, stage) => total + stage.bytesToWrite, 0);
  const bytesToRead = readsIn(groups);
  const bytesToMeasure = (analysis === undefined ? measuredOfModels(plan) : 0) + measuredOfTensors(groups);
  const readOnce = stages.length < 2 ? bytesToRead : readsIn(groupsOf(plan, (key) => keys.has(key)));
  return {
    merges: plan.merges.length,
    bytesPlain: plan.bytesPlain,
    bytesDistinct: plan.bytesDistinct,
    bytesToWrite,
    bytesToRead,
    bytesToMeasure,
    bytesReadAgain: Math.max(0, bytesToRead - readOnce),
    bytesVerbatim: plan.bytesVerbatim,
    shards: plan.shards.size,
    shardsToWrite: toWrite.length,
    seconds: Math.max(bytesToWrite, (bytesToRead + bytesToMeasure) / 2) / assumedRate,
  };
};

const readsIn = (groups: readonly ShardGroup[]): number =>
  groups.flatMap(({ slabs }) => slabs).reduce((total, slab) => total + slab.bytesToRead, 0);

const measuredOfTensors = (groups: readonly ShardGroup[]): number =>
  groups
    .flatMap(({ shards }) => shards)
    .flatMap(({ tensors }) => tensors)
    .flatMap(({ expression }) => passesOf(expression))
    .reduce((total, { sources }) => total + bytesOfSources(sources), 0);

/** Returns the bytes to read for statistics; models measured in one pass count once. */
const measuredOfModels = ({ merges, opened }: BatchPlan<BatchMerge>): number => {
  const passes = new Map<string, Set<number>>();
  const measured = merges.filter(({ isMade }) => !isMade);
  for (const recipe of measured.flatMap((merge) => allRecipes(merge.recipe))) {
    const { statistics } = recipe;
    if (statistics === undefined) continue;
    const pass = passOf(recipe);
    const models = passes.get(pass) ?? new Set();
    passes.set(pass, models);
    for (const model of mergedModels(recipe, [statistics.base, ...statistics.experts]))
      models.add(opened.indexOf(model));
  }
  const bytesOf = (index: number): number => {
    const { tensors } = itemAt(opened.checkpoints, index).checkpoint;
    return [...tensors.values()].reduce((total, tensor) => total + storedBytes(tensor), 0);
  };
  return [...passes.values()]
    .flatMap((models) => [...models])
    .reduce((total, index) => total + bytesOf(index), 0);
};
