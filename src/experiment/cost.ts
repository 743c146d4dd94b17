import type { BatchMerge, BatchPlan } from './batch-plan.js';
import type { ShardGroup } from './groups.js';

/** The cost of a batch. */
export interface BatchCost {
  readonly merges: number;
  /** Bytes to write if each merge were written separately. */
  readonly bytesPlain: number;
  /** Bytes of the distinct shards. */
  readonly bytesDistinct: number;
  /** Bytes of the distinct shards that are not in the store yet. */
  readonly bytesToWrite: number;
  /** Input bytes to read, each once for all outputs of a group that depend on it; statistics excluded. */
  readonly bytesToRead: number;
  /** Bytes of input files that are linked as shards. */
  readonly bytesVerbatim: number;
  readonly shards: number;
  readonly shardsToWrite: number;
  /** An estimate, for a disk of 1 GB/s. */
  readonly seconds: number;
}

/** Bytes per second of the assumed disk, which writes at this rate or reads at twice the rate. */
const assumedRate = 1e9;

export const costOf = (plan: BatchPlan<BatchMerge>, groups: readonly ShardGroup[]): BatchCost => {
  const toWrite = groups.flatMap(({ shards }) => shards);
  const bytesToWrite = toWrite.reduce((total, { bytes }) => total + bytes, 0);
  const bytesToRead = groups
    .flatMap(({ slabs }) => slabs)
    .reduce((total, slab) => total + slab.bytesToRead, 0);
  return {
    merges: plan.merges.length,
    bytesPlain: plan.bytesPlain,
    bytesDistinct: plan.bytesDistinct,
    bytesToWrite,
    bytesToRead,
    bytesVerbatim: plan.bytesVerbatim,
    shards: plan.shards.size,
    shardsToWrite: toWrite.length,
    seconds: Math.max(bytesToWrite, bytesToRead / 2) / assumedRate,
  };
};
