import type { Window } from '../native/measure.js';
import type { Program, Value } from './program.js';

/** Histograms of magnitudes, one for each value. */
export interface Counted {
  /** Elements above the window. */
  readonly above: readonly number[];
  /** Elements in each bin of the window. */
  readonly counts: readonly Uint32Array[];
  /** For each value and each of its window's candidates: elements of that magnitude in each block. */
  readonly exact: readonly (readonly (readonly number[])[])[];
  /** Elements counted: all of the tensor, or those of its sample. */
  readonly elements: number;
}

/** An element to find: the `ordinal`-th (from 1) of a magnitude. */
export interface TiedElement {
  readonly value: Value;
  readonly bits: number;
  readonly ordinal: number;
  /** Elements of that magnitude in each block, where a pass has counted them. */
  readonly ofBlocks: readonly number[] | undefined;
}

/**
 * Measures statistics of a program's values over a whole tensor. Sums are float64, taken block by block and added in the order of the
 * blocks: the same numbers for any number of threads.
 */
export interface Measurer {
  /** Σ xᵢxⱼ for pairs i ≤ j, in order. */
  gram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** The same for each row along the last dimension, one row's pairs behind the other's. */
  rowGram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** The same for each column. */
  columnGram(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** Σ |x| of each value. */
  magnitudes(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** The Kullback-Leibler divergence of softmax(x) from softmax(base), for each row. */
  divergence(program: Program, x: Value, base: Value): Promise<Float64Array>;
  /** Elements of magnitude 0, of each value. */
  zeros(program: Program, values: readonly Value[]): Promise<readonly number[]>;
  /** Elements above 0 less those below, of each value. */
  signs(program: Program, values: readonly Value[]): Promise<Float64Array>;
  /** Counts magnitudes in a window for each value, of the whole tensor or of its sample. */
  histogram(
    program: Program,
    values: readonly Value[],
    windows: readonly Window[],
    bins: number,
    sample: boolean,
  ): Promise<Counted>;
  /** The elements of a sample; 0 where the tensor is too small for a sample to be worth its pass. */
  sampleSize(program: Program): number;
  /** The indexes in the tensor of tied elements. */
  findTies(program: Program, tied: readonly TiedElement[]): Promise<number[]>;
}
