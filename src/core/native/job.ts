import type { BlockLayout } from '../tensor/block-layout.js';
import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { CodeKind, CodeOrder, FactorKind } from '../tensor/quantisation-layout.js';
import type { Rows } from '../tensor/rows.js';

// Jobs, decoded by native/addon/decode.cpp and decode_program.cpp. Ill-typed or contradictory jobs throw
// TypeError or RangeError before any file is touched.

export interface Location {
  readonly fd: number;
  readonly begin: number;
}

/**
 * A stored tensor that a program reads; for `slicing`, see `Slicing` in native/jobs/sources.hpp. A program
 * cannot output a `rows` source unchanged. Only `product`, `combineRows`, `dequantise` and `unpack` read a
 * `whole` source.
 */
export type StoredSource = Location & { readonly dtype: ArithmeticDtype } & (
    | { readonly slicing: 'elements' }
    | RowSlicing
    | WholeSlicing
  );

/** Rows of `width` elements that the output has in another order. */
export interface RowSlicing {
  readonly slicing: 'rows';
  readonly width: number;
  /** Shared, ascending triples (to, from, count): output rows from `to` on are source rows from `from` on. */
  readonly runs: Float64Array;
}

/** A source that each slice of the output needs in full. */
export interface WholeSlicing {
  readonly slicing: 'whole';
  readonly elements: number;
}

/**
 * A position in the order of elements by magnitude, largest first. Elements of exactly this magnitude are
 * above the position if their index is below `cutoff` (with `early`) or at least `cutoff` (without).
 */
export interface MagnitudeBound {
  readonly bits: number;
  readonly cutoff: number;
  readonly early: boolean;
}

/**
 * Elects each element's sign: that of the changes' sum, or `tie` if it is 0. Only changes of that sign count.
 */
export interface Election {
  readonly weighted: boolean;
  readonly tie: 'positive' | 'negative';
}

/** Operations of nodes; each has a struct of the same name in native/jobs/program.hpp. */
export type NodeOperation =
  | { readonly kind: 'linear'; readonly weights: readonly number[] }
  /** Like `linear`, with separate weights for each row: `weights[row·inputs + input]`. */
  | { readonly kind: 'rowLinear'; readonly rows: Rows; readonly weights: Float64Array }
  | {
      readonly kind: 'keep';
      readonly lower: MagnitudeBound;
      readonly upper: MagnitudeBound;
      readonly scale: number;
    }
  | {
      readonly kind: 'drop';
      readonly key: bigint;
      readonly probability: number;
      readonly scale: number;
    }
  /** Like `drop`, but the probability depends on the magnitude's rank in its row. Slices are whole rows. */
  | {
      readonly kind: 'dropRanked';
      readonly key: bigint;
      readonly lowest: number;
      readonly highest: number;
      readonly scale: number;
    }
  | {
      readonly kind: 'random';
      readonly key: bigint;
      readonly distribution: 'normal' | 'uniform';
      readonly scale: number;
    }
  /** input₀ + scale·Σ weightᵢ·inputᵢ₊₁ / divisor, summed over the changes that count by `election`. */
  | {
      readonly kind: 'vote';
      /**
       * A weight per input after the first. With `each`, as many weights follow, for elements that only one input
       * changes.
       */
      readonly weights: readonly number[];
      /** `each` counts all changes except 0; null counts all. */
      readonly election: Election | 'each' | null;
      /** 1, the sum of counted weights, or the number of counted changes. */
      readonly divisor: 'none' | 'weights' | 'count';
      /** Lower limit of the divisor. If it is 0, a divisor of 0 becomes 1. */
      readonly least: number;
      readonly scale: number;
    }
  | { readonly kind: 'variance' }
  | { readonly kind: 'nearSwap'; readonly t: number }
  | { readonly kind: 'fisher'; readonly weights: readonly number[]; readonly eps: number }
  | { readonly kind: 'importance'; readonly divergences: Float64Array }
  | { readonly kind: 'select'; readonly rows: Rows; readonly kept: Uint8Array }
  /** Triples (to, input, count), like those of `RowSlicing`. */
  | { readonly kind: 'assemble'; readonly width: number; readonly runs: Float64Array }
  | { readonly kind: 'fillRows'; readonly from: number; readonly values: Float64Array }
  /** `terms` has pairs (row, coefficient). Output row r has terms starts[r] to starts[r + 1]. */
  | {
      readonly kind: 'combineRows';
      readonly width: number;
      readonly starts: Float64Array;
      readonly terms: Float64Array;
    }
  | {
      readonly kind: 'product';
      readonly rank: number;
      readonly transposed: boolean;
      readonly experts: number;
      readonly row: number;
      readonly grouped: boolean;
    }
  | { readonly kind: 'factored'; readonly kronecker: boolean; readonly factors: readonly SmallMatrix[] }
  | {
      readonly kind: 'turned';
      readonly size: number;
      readonly numbers: Float64Array;
      readonly order: Float64Array;
    }
  | ({ readonly kind: 'dequantise' } & Dequantisation)
  | ({ readonly kind: 'unpack' } & BlockLayout)
  | ({ readonly kind: 'quantise'; readonly codes: boolean } & Quantisation);

/** A matrix: its elements or, if `rank` is above 0, its factors [rows, rank] and [rank, columns]. */
export interface SmallMatrix {
  readonly rows: number;
  readonly columns: number;
  readonly rank: number;
  readonly numbers: Float64Array;
}

export interface CodesInRows {
  readonly codes: CodeKind;
  readonly order: CodeOrder;
  readonly rows: number;
  readonly width: number;
  readonly stride: number;
}

export interface Dequantisation extends CodesInRows {
  readonly scales: 'floats' | 'exponents' | 'nested';
  readonly factor: FactorKind | 'none';
  readonly blockRows: number;
  readonly blockColumns: number;
  readonly transposed: boolean;
  readonly zeros: (CodesInRows & { readonly oneMore: boolean }) | null;
  readonly groups: boolean;
  readonly nested: { readonly block: number; readonly offset: number } | null;
  readonly after: number;
}

export interface Quantisation {
  readonly scheme: QuantisingScheme;
  readonly rows: number;
  readonly blockRows: number;
  readonly blockColumns: number;
  /** For `nvfp4`, the largest magnitude in the matrix; otherwise 0. */
  readonly largest: number;
}

export type QuantisingScheme = 'float8' | 'int8' | 'int4' | 'mxfp4' | 'nvfp4';

/** An operation, rounded to `dtype`. `inputs` index the sources, then earlier nodes. */
export type ProgramNode = NodeOperation & {
  readonly dtype: ArithmeticDtype;
  readonly inputs: readonly number[];
};

/** A program for elements [first, first + count) of a tensor. */
export interface NativeProgram {
  readonly sources: readonly StoredSource[];
  readonly nodes: readonly ProgramNode[];
  readonly first: number;
  readonly count: number;
  /** The tensor's last dimension. */
  readonly columns: number;
  /** Values in which NaN and infinity are searched. */
  readonly watched: readonly number[];
  /** Turns off read-ahead. */
  readonly scattered?: true;
}

/** A tensor to write. Several outputs can be copies of one source, but each node has only one output. */
export interface ProgramOutput extends Location {
  readonly value: number;
  readonly dtype: ArithmeticDtype;
  /** Writes the scales of a `quantise` in float32, as [row of blocks][column of blocks]. */
  readonly scales?: true;
}

/** Work on a slice of output tensors. Copies give the slice in bytes, `compute` in elements. */
export type Job =
  | {
      readonly kind: 'copy';
      readonly source: Location;
      readonly to: Location;
      readonly first: number;
      readonly count: number;
    }
  /** Copies the first source if all are equal; otherwise ends with `notEqual`. */
  | {
      readonly kind: 'same';
      readonly sources: readonly Location[];
      readonly to: Location;
      readonly first: number;
      readonly count: number;
    }
  /** Computes all outputs in one pass over the sources. */
  | {
      readonly kind: 'compute';
      readonly program: NativeProgram;
      readonly outputs: readonly ProgramOutput[];
      /** Shared memory for the tally of the program's only vote (`tally.ts`). */
      readonly tally?: BigInt64Array;
    };

export type Outcome =
  | 'done'
  | 'cancelled'
  | 'inputShrank'
  | 'readFailed'
  | 'writeFailed'
  | 'notEqual'
  | 'threadFailed';

export interface NonFiniteElement {
  readonly watched: number;
  /** Origin of NaN or infinity: a source, or the first node whose result is not finite although its inputs are. */
  readonly cause: number;
  /** Index in the tensor. */
  readonly element: number;
  readonly number: number;
}

export interface JobStatus {
  readonly outcome: Outcome;
  /** The failing source, for `inputShrank`, `readFailed` and `notEqual`. */
  readonly source: number;
  readonly reason: string;
  /** Watched values that are not finite; empty unless `done`. Measures search if a sum is not finite. */
  readonly nonFinite: readonly NonFiniteElement[];
}

/** Words of the memory that the engine's threads share. */
export const control = { cancel: 0, bytesRead: 1, bytesWritten: 2, words: 3 } as const;
