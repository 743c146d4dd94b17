import { type BatchMerge, type BatchPlan, groupsOf } from './batch-plan.js';
import type { ShardGroup } from './groups.js';
import type { Stage } from './stages.js';

/** The cost of a batch. */
export interface BatchCost {
  readonly merges: number;
  /** Bytes to write if each merge were written separately. */
  readonly bytesPlain: number;
  /** Bytes of the distinct shards. */
  readonly bytesDistinct: number;
  /** Bytes of the distinct shards that are not in the store yet. */
  readonly bytesToWrite: number;
  /** Input bytes to read, each once for all outputs of a stage that depend on it; statistics excluded. */
  readonly bytesToRead: number;
  /** Of them, those that another stage reads too: the price of finishing the first merges early. */
  readonly bytesReadAgain: number;
  /** Bytes of input files that are linked as shards. */
  readonly bytesVerbatim: number;
  readonly shards: number;
  readonly shardsToWrite: number;
  /** An estimate, for a disk of 1 GB/s. */
  readonly seconds: number;
}

/** Bytes per second of the assumed disk, which writes at this rate or reads at twice the rate. */
const assumedRate = 1e9;

export const costOf = (plan: BatchPlan<BatchMerge>, stages: readonly Stage<BatchMerge>[]): BatchCost => {
  const groups = stages.flatMap((stage) => stage.groups);
  const toWrite = groups.flatMap(({ shards }) => shards);
  const keys = new Set(toWrite.map(({ key }) => key));
  const bytesToWrite = stages.reduce((total, stage) => total + stage.bytesToWrite, 0);
  const bytesToRead = readsIn(groups);
  const readOnce = stages.length < 2 ? bytesToRead : readsIn(groupsOf(plan, (key) => keys.has(key)));
  return {
    merges: plan.merges.length,
    bytesPlain: plan.bytesPlain,
    bytesDistinct: plan.bytesDistinct,
    bytesToWrite,
    bytesToRead,
    bytesReadAgain: Math.max(0, bytesToRead - readOnce),
    bytesVerbatim: plan.bytesVerbatim,
    shards: plan.shards.size,
    shardsToWrite: toWrite.length,
    seconds: Math.max(bytesToWrite, bytesToRead / 2) / assumedRate,
  };
};

const readsIn = (groups: readonly ShardGroup[]): number =>
  groups.flatMap(({ slabs }) => slabs).reduce((total, slab) => total + slab.bytesToRead, 0);
