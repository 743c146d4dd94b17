import type { BatchMerge, BatchPlan } from './batch-plan.js';
import type { ShardGroup } from './groups.js';

/** What a batch costs, beside what its merges would cost one by one. */
export interface BatchCost {
  readonly merges: number;
  /** If each merge were written by itself. */
  readonly bytesPlain: number;
  /** Of distinct shards, and those of them that are not in the store yet. */
  readonly bytesDistinct: number;
  readonly bytesToWrite: number;
  /** Of inputs, each byte once for all outputs that are made of it; statistics aside. */
  readonly bytesToRead: number;
  /** Of shards that are input files as they stand, which are linked. */
  readonly bytesVerbatim: number;
  readonly shards: number;
  readonly shardsToWrite: number;
  /** A guess, from a disk of 1 GB/s. */
  readonly seconds: number;
}

/** Bytes a second that a guess of the time assumes: of a disk, written and read at once. */
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
