import type { NativeProgram } from './job.js';

// Measurements, decoded by native/addon/decode_measure.cpp.

/** A window of magnitudes (float32 bits) from `low` > 0 to `last`, in bins of 2^shift consecutive values. */
export interface Window {
  readonly low: number;
  readonly last: number;
  readonly shift: number;
  /**
   * Magnitudes that each block counts exactly. If the search ends at such a magnitude, these counts break ties.
   */
  readonly candidates: readonly number[];
}

export const mostCandidates = 4;

/** A measure over a block, with `sizeOf` float64 results. Structs are in native/jobs/measure.hpp. */
export type Measure =
  | { readonly kind: 'gram'; readonly values: readonly number[] }
  | { readonly kind: 'rowGram'; readonly values: readonly number[] }
  | { readonly kind: 'columnGram'; readonly values: readonly number[] }
  | { readonly kind: 'magnitudes'; readonly value: number }
  | { readonly kind: 'rowMagnitudes'; readonly value: number }
  | { readonly kind: 'columnMagnitudes'; readonly value: number }
  | { readonly kind: 'columnSums'; readonly value: number }
  | { readonly kind: 'overlaps'; readonly values: readonly number[] }
  | {
      readonly kind: 'nonFinite';
      readonly base: number;
      readonly experts: readonly number[];
      readonly differences: readonly number[];
    }
  /** Adds to shared `counts`. Counts magnitudes above the window, and those equal to each candidate. */
  | {
      readonly kind: 'histogram';
      readonly value: number;
      readonly window: Window;
      readonly counts: Uint32Array;
    }
  | { readonly kind: 'countAlone'; readonly values: readonly number[]; readonly bits: number }
  | { readonly kind: 'countMagnitude'; readonly value: number; readonly bits: number }
  | {
      readonly kind: 'findMagnitude';
      readonly value: number;
      readonly bits: number;
      readonly ordinal: number;
    }
  | { readonly kind: 'divergence'; readonly value: number; readonly base: number }
  | { readonly kind: 'signs'; readonly value: number }
  /** Compares two values; cannot be combined with other measures. */
  | {
      readonly kind: 'difference';
      readonly a: number;
      readonly b: number;
      readonly numbers: boolean;
      readonly equalBlocks: boolean;
    };

/** Results of `difference`, in the order of `DifferenceNumber` in native/jobs/measure.hpp. */
export const differenceNumbers = [
  'otherBits',
  'unequal',
  'nonFinite',
  'largest',
  'absolute',
  'squares',
  'squaresOfFirst',
  'first',
] as const;

export type DifferenceNumber = (typeof differenceNumbers)[number];

/** Measures of one block. Measures of rows, columns and runs can be combined (native/jobs/measure.hpp). */
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
    case 'countAlone':
      return 2 * measure.values.length;
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
