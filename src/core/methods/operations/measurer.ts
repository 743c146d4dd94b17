import type { RowRun } from '../../models/tokenizer/vocabulary.js';
import type { Window } from '../../native/measure.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import type { Program, Value } from './program.js';

export interface Counted {
  /** For each value: elements above the window. */
  readonly above: readonly number[];
  /** For each value: elements in each bin of the window. */
  readonly counts: readonly (Uint32Array | Float64Array)[];
  /** For each value and candidate of its window: elements of exactly that magnitude in each block. */
  readonly exact: readonly (readonly (readonly number[])[])[];
  /** Number of elements counted: all, or those of the sample. */
  readonly elements: number;
}

/** An element to find: the `ordinal`-th (from 1) of a magnitude. */
export interface TiedElement {
  readonly value: Value;
  readonly bits: number;
  readonly ordinal: number;
  /** Elements of that magnitude in each block; undefined if not yet counted. */
  readonly ofBlocks: readonly number[] | undefined;
}

/**
 * Rows of a stored matrix of `width` columns: those to approximate, and those for the sums. Only the `from`
 * side of runs counts.
 */
export interface Pursued {
  readonly matrix: StoredTensor;
  readonly width: number;
  readonly targets: readonly RowRun[];
  readonly atoms: readonly RowRun[];
  /** Most atoms of a sum. */
  readonly k: number;
}

/** The result of a pursuit for each target, in order. */
export type Pursuits = readonly {
  /** ‖target‖² */
  readonly squares: number;
  /** ‖target − sum‖² */
  readonly error: number;
  /** Terms of the sum, in the order of choice: indexes of atoms, and coefficients. */
  readonly atoms: Float64Array;
  readonly coefficients: Float64Array;
}[];

/**
 * Measures statistics of a program's values over a whole tensor. Sums are float64 per block; blocks are added
 * in order, so results do not depend on the number of threads.
 */
export interface Measurer {
  /** Σ xᵢxⱼ for pairs i ≤ j, in the order of `pairIndex`. */
  gram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** `gram` for each row along the last dimension, row after row. */
  rowGram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** `gram` for each column, column after column. */
  columnGram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** Σ x of each column. */
  columnSums(program: Program, value: Value): Promise<Float64Array>;
  /** Σ |x| for each value. */
  magnitudes(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** For each row, the Kullback-Leibler divergence of softmax(x) from softmax(base). */
  divergence(program: Program, x: Value, base: Value): Promise<Float64Array>;
  /** Number of zeros (of either sign) in each value. */
  zeros(program: Program, values: readonly Value[]): Promise<readonly number[]>;
  /** Number of positive minus number of negative elements, for each value. */
  signs(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** Approximates rows of a stored matrix by sums of few others, by orthogonal matching pursuit. */
  pursue(pursued: Pursued): Promise<Pursuits>;
  /** Histograms of magnitudes over a window for each value, of all elements or of a sample. */
  histogram(
    program: Program,
    values: readonly Value[],
    windows: readonly Window[],
    bins: number,
    sample: boolean,
  ): Promise<Counted>;
  /** Elements in a sample; 0 if sampling would not save a pass over so small a tensor. */
  sampleSize(program: Program): number;
  /** Returns the index in the tensor of each tied element. */
  findTies(program: Program, tied: readonly TiedElement[]): Promise<number[]>;
}
