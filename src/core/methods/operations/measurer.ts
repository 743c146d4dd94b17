import type { RowRun } from '../../models/tokenizer/vocabulary.js';
import type { Window } from '../../native/measure.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import type { Program, Value } from './program.js';

/** Histograms of magnitudes, one for each value. */
export interface Counted {
  /** For each value: elements above the window. */
  readonly above: readonly number[];
  /** For each value: elements in each bin of the window. */
  readonly counts: readonly (Uint32Array | Float64Array)[];
  /** For each value and each candidate of its window: elements of exactly that magnitude in each block. */
  readonly exact: readonly (readonly (readonly number[])[])[];
  /** The number of elements counted: the whole tensor, or its sample. */
  readonly elements: number;
}

/** An element to find: the `ordinal`-th (from 1) of those whose magnitude has these bits. */
export interface TiedElement {
  readonly value: Value;
  readonly bits: number;
  readonly ordinal: number;
  /** Elements of that magnitude in each block; undefined if no pass has counted them yet. */
  readonly ofBlocks: readonly number[] | undefined;
}

/**
 * Rows of a stored matrix of `width` columns: those to approximate, and those that sums may be of. Rows are those that
 * runs are from.
 */
export interface Pursued {
  readonly matrix: StoredTensor;
  readonly width: number;
  readonly targets: readonly RowRun[];
  readonly atoms: readonly RowRun[];
  /** Atoms of a sum, at most. */
  readonly k: number;
}

/** What a pursuit finds of each target, in their order. */
export type Pursuits = readonly {
  /** ‖target‖² */
  readonly squares: number;
  /** ‖target − sum‖² */
  readonly error: number;
  /** The terms of the sum, in the order of choice: places among the atoms, and coefficients. */
  readonly atoms: Float64Array;
  readonly coefficients: Float64Array;
}[];

/**
 * Measures statistics of a program's values over a whole tensor. Sums are float64 and taken per block; block
 * results are added in block order, so that they do not depend on the number of threads.
 */
export interface Measurer {
  /** Σ xᵢxⱼ for pairs i ≤ j, in the order of `pairIndex`. */
  gram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** The same sums for each row along the last dimension, row after row. */
  rowGram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** The same sums for each column, column after column. */
  columnGram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** Σ x of each column. */
  columnSums(program: Program, value: Value): Promise<Float64Array>;
  /** Σ |x| for each value. */
  magnitudes(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** The Kullback-Leibler divergence of softmax(x) from softmax(base), one number per row. */
  divergence(program: Program, x: Value, base: Value): Promise<Float64Array>;
  /** The number of zeros (of either sign) in each value. */
  zeros(program: Program, values: readonly Value[]): Promise<readonly number[]>;
  /** The number of positive elements minus the number of negative ones, for each value. */
  signs(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** Approximates rows of a stored matrix by sums of few others, by orthogonal matching pursuit. */
  pursue(pursued: Pursued): Promise<Pursuits>;
  /** Histograms of magnitudes over a window for each value, of the whole tensor or of a sample. */
  histogram(
    program: Program,
    values: readonly Value[],
    windows: readonly Window[],
    bins: number,
    sample: boolean,
  ): Promise<Counted>;
  /** The number of elements in a sample; 0 if the tensor is so small that sampling would not save a pass. */
  sampleSize(program: Program): number;
  /** The index in the tensor of each tied element. */
  findTies(program: Program, tied: readonly TiedElement[]): Promise<number[]>;
}
