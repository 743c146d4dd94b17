import type { BatchMerge } from '../../batch/planning/batch-merge.js';
import type { BatchPlan } from '../../batch/planning/batch-plan.js';
import { scratchPlace } from '../../store/claims/scratch.js';
import { type PlacedMerges, placeMerges } from './plan-in-place.js';

export interface CostInPlace {
  readonly merges: number;
  /** Bytes of computed tensors, plus whole merges without a donor (a model to start from). */
  readonly bytes: number;
  readonly place: string;
  /** Bytes that writing the merges would take; shared shards count once. */
  readonly bytesWritten: number;
  /** Merges that are written to `place` and removed later, because no loaded model can be changed into them. */
  readonly withoutDonor: number;
}

/** @param beside directory to use if memory is too small */
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
