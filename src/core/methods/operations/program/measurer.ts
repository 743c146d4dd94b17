import type { RowRun } from '../../../models/tokenizer/vocabulary.js';
import type { Window } from '../../../native/measure.js';
import type { StoredTensor } from '../../../tensor/stored-tensor.js';
import type { Program, Value } from './program.js';

export interface Counted {
  readonly above: readonly number[];
  readonly counts: readonly (Uint32Array | Float64Array)[];
  /** Numbers of elements with exactly each candidate's magnitude, by block. */
  readonly exact: readonly (readonly (readonly number[])[])[];
  /** Number of counted elements: all, or the sample's. */
  readonly elements: number;
  /** Zeros of either sign in each value, if requested. */
  readonly zeros?: readonly number[];
}

/** The `ordinal`-th element (from 1) among those of one magnitude. */
export interface TiedElement {
  readonly value: Value;
  readonly bits: number;
  readonly ordinal: number;
  /** Counts by block, if known. */
  readonly ofBlocks: readonly number[] | undefined;
}

/** Rows of a stored matrix to approximate by sums of other rows (atoms); `to` of each run is unused. */
export interface Pursued {
  readonly matrix: StoredTensor;
  readonly width: number;
  readonly targets: readonly RowRun[];
  readonly atoms: readonly RowRun[];
  /** Maximum atoms in a sum. */
  readonly k: number;
}

export type Pursuits = readonly {
  readonly squares: number;
  /** ‖target − sum‖² */
  readonly error: number;
  /** Atoms in the order chosen. */
  readonly atoms: Float64Array;
  readonly coefficients: Float64Array;
}[];

/** Measures whole tensors. Sums are float64 in block order, whatever the number of threads. */
export interface Measurer {
  /** Σ xᵢxⱼ for pairs i ≤ j, in the order of `pairIndex`. */
  gram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  rowGram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  columnGram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  columnSums(program: Program, value: Value): Promise<Float64Array>;
  magnitudes(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** Kullback-Leibler divergence of softmax(x) from softmax(base), by row. */
  divergence(program: Program, x: Value, base: Value): Promise<Float64Array>;
  /** Counts for each value the elements above `bits`, and those where only this value is above `bits`. */
  alone(program: Program, values: readonly Value[], bits: number): Promise<Float64Array>;
  /** Counts positive minus negative elements, by value. */
  signs(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** Approximates targets by orthogonal matching pursuit. */
  pursue(pursued: Pursued): Promise<Pursuits>;
  /** Counts magnitudes in each value's window, over all elements or a sample. */
  histogram(
    program: Program,
    values: readonly Value[],
    windows: readonly Window[],
    bins: number,
    sample: boolean,
    zeros?: boolean,
  ): Promise<Counted>;
  /** Size of a sample; 0 if it would not save a pass. */
  sampleSize(program: Program): number;
  findTies(program: Program, tied: readonly TiedElement[]): Promise<number[]>;
}
