import type { BatchMerge } from '../../batch/batch-merge.js';
import type { BatchPlan } from '../../batch/batch-plan.js';
import { scratchPlace } from '../../store/scratch.js';
import { type PlacedMerges, placeMerges } from './plan-in-place.js';

/** What scoring merges makes that are not written. */
export interface CostInPlace {
  readonly merges: number;
  /** Bytes of the tensors that are computed, and of merges without a donor. */
  readonly bytes: number;
  /** Directory in which they are while the merges are scored. */
  readonly place: string;
  /** Bytes of the distinct shards that the merges have if they are written. */
  readonly bytesWritten: number;
  /** Number of merges that no model can stand in for: they are written to that directory, and removed. */
  readonly withoutDonor: number;
}

/** @param beside directory for what has no room in memory */
export const costInPlace = async (
  plan: BatchPlan<BatchMerge>,
  beside: string,
  { bytes, withoutDonor }: PlacedMerges = placeMerges(plan),
): Promise<CostInPlace> => {
  return {
    merges: plan.merges.length,
    bytes,
    place: await scratchPlace(beside, bytes),
    bytesWritten: plan.bytesDistinct,
    withoutDonor: withoutDonor.length,
  };
};
