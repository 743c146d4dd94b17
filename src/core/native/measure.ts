import type { NativeProgram } from './job.js';

// Measurements, decoded by native/addon/decode_measure.cpp.

/** Magnitudes (float32 bits) from `low` > 0 to `last`, in bins of 2^shift neighbours. */
export interface Window {
  readonly low: number;
  readonly last: number;
  readonly shift: number;
  /** Magnitudes counted exactly, block by block: the search may end at them, and ties may need breaking. */
  readonly candidates: readonly number[];
}

export const mostCandidates = 4;

/** A measure of values over a block; returns `sizeOf` float64 numbers. */
export type Measure =
  /** Σ xᵢxⱼ for pairs i ≤ j of the values, in order. */
  | { readonly kind: 'gram'; readonly values: readonly number[] }
  /** `gram` of each row along the last dimension. */
  | { readonly kind: 'rowGram'; readonly values: readonly number[] }
  /** `gram` of each column. */
  | { readonly kind: 'columnGram'; readonly values: readonly number[] }
  /** Σ |x|. */
  | { readonly kind: 'magnitudes'; readonly value: number }
  /** Σ |x| of each row. */
  | { readonly kind: 'rowMagnitudes'; readonly value: number }
  /** Σ |x| of each column. */
  | { readonly kind: 'columnMagnitudes'; readonly value: number }
  /** Σ x of each column. */
  | { readonly kind: 'columnSums'; readonly value: number }
  /**
   * For each pair i ≤ j of the values, in order: Σ xᵢxⱼ, the number of elements at which neither is 0, and
   * how many of those have equal signs (both 0 for i = j). Needs `rowMagnitudes` or `columnMagnitudes` of
   * each value: if they are not all finite, NaN and infinity count as 0.
   */
  | { readonly kind: 'overlaps'; readonly values: readonly number[] }
  /**
   * Counts NaN and infinity: in `base`, then in each expert, including overflowed differences from a finite
   * base. Needs `rowMagnitudes` or `columnMagnitudes` of each difference.
   */
  | {
      readonly kind: 'nonFinite';
      readonly base: number;
      readonly experts: readonly number[];
      readonly differences: readonly number[];
    }
  /**
   * Adds the window's magnitudes to `counts`, which threads share. Returns how many are above the window, and
   * equal each candidate.
   */
  | {
      readonly kind: 'histogram';
      readonly value: number;
      readonly window: Window;
      readonly counts: Uint32Array;
    }
  | { readonly kind: 'countMagnitude'; readonly value: number; readonly bits: number }
  /** Index in the tensor of the `ordinal`-th element (from 1) of a magnitude. */
  | {
      readonly kind: 'findMagnitude';
      readonly value: number;
      readonly bits: number;
      readonly ordinal: number;
    }
  /** For each row, the Kullback-Leibler divergence of softmax(value) from softmax(base). */
  | { readonly kind: 'divergence'; readonly value: number; readonly base: number }
  /** Number of elements above 0 minus number below 0. */
  | { readonly kind: 'signs'; readonly value: number }
  /**
   * Differences of two values, as in `differenceNumbers`. Must be the only measure.
   *
   * - `numbers`: false compares only bits.
   * - `equalBlocks`: true gives only 0 for a block whose bytes are equal.
   */
  | {
      readonly kind: 'difference';
      readonly a: number;
      readonly b: number;
      readonly numbers: boolean;
      readonly equalBlocks: boolean;
    };

/**
 * Results of `difference`, in the order of native/jobs/measure.hpp. Maximum, sums and `squaresOfFirst` cover
 * elements that are finite in both.
 */
export const differenceNumbers = [
  /** Elements whose bits differ; 0 if the dtypes differ. */
  'otherBits',
  /** Elements that differ as numbers: +0 equals −0, and NaN equals NaN. */
  'unequal',
  /** Elements at which a, b or the difference is NaN or infinite. */
  'nonFinite',
  /** max |a − b| */
  'largest',
  /** Σ |a − b| */
  'absolute',
  /** Σ (a − b)² */
  'squares',
  /** Σ a² */
  'squaresOfFirst',
  /**
   * 1 + index of the first element that differs: in bits, or as a number if the dtypes differ. 0: no
   * difference.
   */
  'first',
] as const;

export type DifferenceNumber = (typeof differenceNumbers)[number];

/**
 * A block of whole rows of a tensor, and measures of it. Measures of rows and columns can be combined, and so
 * can measures of runs (native/jobs/measure.hpp).
 */
export interface Measurement {
  readonly program: NativeProgram;
  readonly measures: readonly Measure[];
}

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
