import type { RowRun } from '../../../models/tokenizer/vocabulary.js';
import type { Window } from '../../../native/measure.js';
import type { StoredTensor } from '../../../tensor/stored-tensor.js';
import type { Program, Value } from './program.js';

export interface Counted {
  readonly above: readonly number[];
  /** Counts in each bin, for each value's window. */
  readonly counts: readonly (Uint32Array | Float64Array)[];
  /** For each candidate of a value's window: numbers of elements with exactly this magnitude, by block. */
  readonly exact: readonly (readonly (readonly number[])[])[];
  /** Number of elements counted: all, or the sample's. */
  readonly elements: number;
}

/** The `ordinal`-th element (from 1) among those of one magnitude. */
export interface TiedElement {
  readonly value: Value;
  readonly bits: number;
  readonly ordinal: number;
  /** Number of such elements in each block; undefined if not counted yet. */
  readonly ofBlocks: readonly number[] | undefined;
}

/** Rows of a stored matrix: targets to approximate, by sums of atoms. `to` of each run is not used. */
export interface Pursued {
  readonly matrix: StoredTensor;
  readonly width: number;
  readonly targets: readonly RowRun[];
  readonly atoms: readonly RowRun[];
  /** Limit on the atoms in a sum. */
  readonly k: number;
}

export type Pursuits = readonly {
  readonly squares: number;
  /** ‖target − sum‖² */
  readonly error: number;
  /** Indexes and coefficients of the chosen atoms, in the order of choice. */
  readonly atoms: Float64Array;
  readonly coefficients: Float64Array;
}[];

/** Measures whole tensors. Sums are float64, in block order, whatever the number of threads. */
export interface Measurer {
  /** Returns Σ xᵢxⱼ for pairs i ≤ j, in the order of `pairIndex`. */
  gram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** Like `gram`, for each row along the last dimension. */
  rowGram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  columnGram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  columnSums(program: Program, value: Value): Promise<Float64Array>;
  /** Returns each value's Σ |x|. */
  magnitudes(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** Returns for each row the Kullback-Leibler divergence of softmax(x) from softmax(base). */
  divergence(program: Program, x: Value, base: Value): Promise<Float64Array>;
  /** Counts zeros of either sign in each value. */
  zeros(program: Program, values: readonly Value[]): Promise<readonly number[]>;
  /** Returns the number of positive elements minus that of negative ones, for each value. */
  signs(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** Approximates rows by sums of a few others, using orthogonal matching pursuit. */
  pursue(pursued: Pursued): Promise<Pursuits>;
  /** Returns a histogram over each value's window, of all elements or of a sample. */
  histogram(
    program: Program,
    values: readonly Value[],
    windows: readonly Window[],
    bins: number,
    sample: boolean,
  ): Promise<Counted>;
  /** Returns a sample's number of elements; 0 if sampling would not save a pass. */
  sampleSize(program: Program): number;
  /** Returns each tied element's index in the tensor. */
  findTies(program: Program, tied: readonly TiedElement[]): Promise<number[]>;
}
