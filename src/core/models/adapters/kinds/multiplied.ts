import type { TensorReference } from '../../../tensor/reference.js';

/** A factor of a weight, with its numbers in a stored tensor `S`. */
export type Multiplier<S> =
  /** Scales each output (row) or input (column). */
  | { readonly by: 'scales'; readonly rows: 'output' | 'input'; readonly source: S }
  | BlockMultiplier<S>
  /** W · Π (I − 2 · u · uᵀ) over the normalised columns u of `source`, [in, vectors], after each other. */
  | {
      readonly by: 'reflections';
      readonly vectors: number;
      /** True to make each column orthogonal to those before it. */
      readonly orthogonal: boolean;
      readonly source: S;
    };

/** W · Rᵀ with R = diag(R₁, R₂, …): rotations of blocks of `size` inputs, used in turn. */
export interface BlockMultiplier<S> {
  readonly by: 'blocks';
  readonly size: number;
  /** Number of stored blocks. */
  readonly blocks: number;
  /**
   * How a skew-symmetric Q is stored: above its diagonal, by rows; or as a matrix M, Q = (M − Mᵀ) / 2.
   */
  readonly skew: 'upper' | 'whole';
  /** Terms of the power series of (I − Q)⁻¹ · (I + Q); null: R = (I + Q)⁻¹ · (I − Q). */
  readonly terms: number | null;
  /** Most ‖Q‖, above which Q is scaled down to it (constrained OFT). */
  readonly limit: number | null;
  /** A stage of a butterfly: the permutation of inputs around the blocks. */
  readonly butterfly: { readonly stage: number; readonly stages: number } | null;
  readonly source: S;
}

/** W times factors, one after another. Rounded once. */
export interface MultipliedChange {
  readonly kind: 'multiplied';
  readonly by: readonly Multiplier<TensorReference>[];
}
