import type { RowRun } from '../../../models/tokenizer/vocabulary.js';
import type { Window } from '../../../native/measure.js';
import type { StoredTensor } from '../../../tensor/stored-tensor.js';
import type { Program, Value } from './program.js';

export interface Counted {
  readonly above: readonly number[];
  /** For each bin of a value's window. */
  readonly counts: readonly (Uint32Array | Float64Array)[];
  /** For each candidate of a value's window: elements of exactly that magnitude in each block. */
  readonly exact: readonly (readonly (readonly number[])[])[];
  /** All elements, or the sample's. */
  readonly elements: number;
}

/** The `ordinal`-th element (from 1) of a magnitude. */
export interface TiedElement {
  readonly value: Value;
  readonly bits: number;
  readonly ordinal: number;
  /** Equal elements in each block; undefined if not yet counted. */
  readonly ofBlocks: readonly number[] | undefined;
}

/**
 * Rows of a stored matrix: those to approximate, and those whose sums may approximate them. Only `from` of
 * each run is used.
 */
export interface Pursued {
  readonly matrix: StoredTensor;
  readonly width: number;
  readonly targets: readonly RowRun[];
  readonly atoms: readonly RowRun[];
  /** Most atoms of a sum. */
  readonly k: number;
}

export type Pursuits = readonly {
  /** ‖target‖² */
  readonly squares: number;
  /** ‖target − sum‖² */
  readonly error: number;
  /** Terms in the order of choice: indexes of atoms, and coefficients. */
  readonly atoms: Float64Array;
  readonly coefficients: Float64Array;
}[];

/**
 * Measures statistics of values over a whole tensor. Sums are float64 per block, added in block order, so
 * they do not depend on the number of threads.
 */
export interface Measurer {
  /** Σ xᵢxⱼ for pairs i ≤ j, in the order of `pairIndex`. */
  gram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** `gram` for each row along the last dimension. */
  rowGram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** `gram` for each column. */
  columnGram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** Σ x of each column. */
  columnSums(program: Program, value: Value): Promise<Float64Array>;
  /** Σ |x| for each value. */
  magnitudes(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** The Kullback-Leibler divergence of softmax(x) from softmax(base), for each row. */
  divergence(program: Program, x: Value, base: Value): Promise<Float64Array>;
  /** Zeros of either sign, for each value. */
  zeros(program: Program, values: readonly Value[]): Promise<readonly number[]>;
  /** Positive minus negative elements, for each value. */
  signs(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** Approximates rows by sums of few others, by orthogonal matching pursuit. */
  pursue(pursued: Pursued): Promise<Pursuits>;
  /** Histograms over a window for each value, of all elements or a sample. */
  histogram(
    program: Program,
    values: readonly Value[],
    windows: readonly Window[],
    bins: number,
    sample: boolean,
  ): Promise<Counted>;
  /** Elements in a sample; 0 if it would not save a pass. */
  sampleSize(program: Program): number;
  /** Returns the index in the tensor of each tied element. */
  findTies(program: Program, tied: readonly TiedElement[]): Promise<number[]>;
}
