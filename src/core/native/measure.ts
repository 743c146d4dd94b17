import type { NativeProgram } from './job.js';

// Measurements as the addon takes them; native/addon/decode_measure.cpp reads them.

/**
 * A window of magnitudes, as bits of float32, from `low`, which is not 0, to `last`: bins of 2^shift
 * neighbours.
 */
export interface Window {
  readonly low: number;
  readonly last: number;
  readonly shift: number;
  /**
   * Magnitudes in the window that are counted exactly, block by block: where the search may end, and ties may
   * have to be broken.
   */
  readonly candidates: readonly number[];
}

/** Candidates of a window, at most. */
export const mostCandidates = 4;

/** A measure of values of a program over a block. It finds `sizeOf` numbers of float64. */
export type Measure =
  /** Σ xᵢxⱼ for pairs i ≤ j of the values, in order. */
  | { readonly kind: 'gram'; readonly values: readonly number[] }
  /** The same of each row along the last dimension, one behind the other. */
  | { readonly kind: 'rowGram'; readonly values: readonly number[] }
  /** The same of each column. */
  | { readonly kind: 'columnGram'; readonly values: readonly number[] }
  /** Σ |x|. */
  | { readonly kind: 'magnitudes'; readonly value: number }
  /** The same of each row. */
  | { readonly kind: 'rowMagnitudes'; readonly value: number }
  /** The same of each column. */
  | { readonly kind: 'columnMagnitudes'; readonly value: number }
  /** Σ x of each column. */
  | { readonly kind: 'columnSums'; readonly value: number }
  /**
   * For each pair i ≤ j of the values, in order: Σ xᵢxⱼ, elements where neither is 0, those of them with one
   * sign (the counts are 0 for i = j). Stands beside `rowMagnitudes` or `columnMagnitudes` of each value:
   * where these are not all finite, values that are not count as 0.
   */
  | { readonly kind: 'overlaps'; readonly values: readonly number[] }
  /**
   * Elements that are no finite numbers: of `base`, then of each expert, where also differences from a finite
   * base count that are none. Stands beside `rowMagnitudes` or `columnMagnitudes` of each difference.
   */
  | {
      readonly kind: 'nonFinite';
      readonly base: number;
      readonly experts: readonly number[];
      readonly differences: readonly number[];
    }
  /**
   * Adds to `counts`, which threads share, the magnitudes in each bin of the window. Finds how many are above
   * it, and of each candidate.
   */
  | {
      readonly kind: 'histogram';
      readonly value: number;
      readonly window: Window;
      readonly counts: Uint32Array;
    }
  /** Counts the elements that have a magnitude. */
  | { readonly kind: 'countMagnitude'; readonly value: number; readonly bits: number }
  /** The index in the tensor of the n-th element with a magnitude; `ordinal` is n, from 1 on. */
  | {
      readonly kind: 'findMagnitude';
      readonly value: number;
      readonly bits: number;
      readonly ordinal: number;
    }
  /** For each row the Kullback-Leibler divergence of softmax(value) from softmax(base). */
  | { readonly kind: 'divergence'; readonly value: number; readonly base: number }
  /** Elements above 0 less those below. */
  | { readonly kind: 'signs'; readonly value: number }
  /**
   * Differences of two values, as `differenceNumbers` lists them. Stands alone.
   *
   * - `numbers`: false compares the bits of elements alone.
   * - `equalBlocks`: false finds a block whose bytes are equal to be so before any arithmetic; all its numbers are then 0.
   */
  | {
      readonly kind: 'difference';
      readonly a: number;
      readonly b: number;
      readonly numbers: boolean;
      readonly equalBlocks: boolean;
    };

/**
 * The numbers that `difference` finds, in the order of native/jobs/measure.hpp. The largest, the sums and `squaresOfFirst` are over
 * elements that are finite in both.
 */
export const differenceNumbers = [
  /** Elements whose bits differ; 0 where the dtypes do. */
  'otherBits',
  /** Elements that differ as numbers: zeros of either sign are equal, and so are two NaN. */
  'unequal',
  /** Elements that are not finite in a or in b, or whose difference is not. */
  'nonFinite',
  /** max |a − b| */
  'largest',
  /** Σ |a − b| */
  'absolute',
  /** Σ (a − b)² */
  'squares',
  /** Σ a² */
  'squaresOfFirst',
  /** 1 + the index in the tensor of the first element that differs: in its bits, or as a number where the dtypes differ. 0: none. */
  'first',
] as const;

export type DifferenceNumber = (typeof differenceNumbers)[number];

/**
 * A block of whole rows of a tensor, and what to find of values of a program over it. Measures of rows and
 * columns of magnitudes, of overlaps and of what is not finite may stand together, and so may those of runs
 * of elements (native/jobs/measure.hpp).
 */
export interface Measurement {
  readonly program: NativeProgram;
  readonly measures: readonly Measure[];
}

/** Returns the count of numbers that a measure of a block finds. */
export const sizeOf = (
  measure: Measure,
  { count, columns }: Pick<NativeProgram, 'count' | 'columns'>,
): number => {
  const rows = count / columns;
  switch (measure.kind) {
    case 'gram':
      return pairsOf(measure.values);
    case 'rowGram':
      return rows * pairsOf(measure.values);
    case 'columnGram':
      return columns * pairsOf(measure.values);
    case 'overlaps':
      return 3 * pairsOf(measure.values);
    case 'rowMagnitudes':
    case 'divergence':
      return rows;
    case 'columnMagnitudes':
    case 'columnSums':
      return columns;
    case 'nonFinite':
      return 1 + measure.experts.length;
    case 'histogram':
      return 1 + mostCandidates;
    case 'difference':
      return differenceNumbers.length;
    case 'magnitudes':
    case 'countMagnitude':
    case 'findMagnitude':
    case 'signs':
      return 1;
  }
};

const pairsOf = ({ length }: readonly number[]): number => (length * (length + 1)) / 2;
