import type { TensorReference } from '../../../tensor/reference.js';

/** A factor of a weight, whose numbers are in a stored tensor `S`. */
export type Multiplier<S> =
  /** Scales each output (row) or input (column, or a convolution's columns of an input). */
  | { readonly by: 'scales'; readonly rows: 'output' | 'input'; readonly source: S }
  | BlockMultiplier<S>
  /** W·Π (I − 2·u·uᵀ) for the normalised columns u of `source` [in, vectors], in order. */
  | {
      readonly by: 'reflections';
      readonly vectors: number;
      /** True to make each column orthogonal to earlier ones. */
      readonly orthogonal: boolean;
      readonly source: S;
    };

/** W·Rᵀ with R = diag(R₁, R₂, …): rotations of blocks of `size` inputs, used in turn. */
export interface BlockMultiplier<S> {
  readonly by: 'blocks';
  readonly size: number;
  readonly blocks: number;
  /**
   * How skew-symmetric Q is stored. `upper`: its elements above the diagonal, by rows. `lower`: those of Qᵀ.
   * `whole`: a matrix M with Q = (M − Mᵀ)/2.
   */
  readonly skew: 'upper' | 'lower' | 'whole';
  /** Number of terms in the power series for (I − Q)⁻¹·(I + Q). If null, R = (I + Q)⁻¹·(I − Q). */
  readonly terms: number | null;
  /** Maximum ‖Q‖; a larger Q is scaled down to it (constrained OFT). */
  readonly limit: number | null;
  /** For a stage of a butterfly, how inputs are permuted before and after the blocks. */
  readonly butterfly: { readonly stage: number; readonly stages: number } | null;
  readonly source: S;
}

/** The product of W and factors, applied one after another and rounded once at the end. */
export interface MultipliedChange {
  readonly kind: 'multiplied';
  readonly by: readonly Multiplier<TensorReference>[];
}
