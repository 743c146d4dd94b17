import type { TensorChange, TensorReference } from '../../../tensor/reference.js';

/** A tensor's rows in the stacked products of several experts, whose factors share two matrices. */
export interface ExpertRows {
  /** Number of experts. `a` is [experts·rank, in]; `b` is [out, rank·experts], a rank's experts adjacent. */
  readonly count: number;
  /** Set if the ranks of an expert are adjacent in `b`, which is then [out, experts·rank]. */
  readonly grouped?: true;
  /** The tensor's first row among the stacked products. */
  readonly row: number;
}

/** The factors of a parameter. */
export interface PlacedFactors {
  /** [rank, in] */
  readonly a: TensorReference;
  /** [out, rank] */
  readonly b: TensorReference;
  /** The kind's extra tensor, such as DoRA's magnitudes: [out]. */
  readonly beside?: TensorReference | undefined;
  readonly rank: number;
  /** s: alpha/rank, or alpha/√rank (rsLoRA). */
  readonly scale: number;
  /** True if stored as [in, out]: the product is (B·A)ᵀ. */
  readonly transposed: boolean;
  readonly experts?: ExpertRows | undefined;
}

/** A kind of adapter. `src/core/plan/adapted.ts` maps its changes to operands. */
export interface AdapterKind<C extends TensorChange = TensorChange> {
  /** The key of `adapter_config.json` that selects this kind; absent for plain LoRA. */
  readonly key?: string;
  /** Name suffix of the kind's extra tensor, with one number per output. */
  readonly beside?: string;
  /** Why changes of this kind cannot be summed; absent if they can. */
  readonly noSum?: string;
  change(factors: PlacedFactors): C;
}
