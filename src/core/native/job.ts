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
 * A stored tensor that a program reads; for `slicing`, see `Slicing` in native/jobs/sources.hpp. A `rows`
 * source cannot be an output directly; a `whole` source serves only `product`, `combineRows`, `dequantise`
 * and `unpack`.
 */
export type StoredSource = Location & { readonly dtype: ArithmeticDtype } & (
    | { readonly slicing: 'elements' }
    | RowSlicing
    | WholeSlicing
  );

/** How a slice reads rows of `width` elements in another order. */
export interface RowSlicing {
  readonly slicing: 'rows';
  readonly width: number;
  /** Triples (to, from, count) in shared memory: output rows [to, …) are source rows [from, …). Ascending. */
  readonly runs: Float64Array;
}

/** A source that each slice of the output needs in full. */
export interface WholeSlicing {
  readonly slicing: 'whole';
  readonly elements: number;
}

/**
 * A position in the order of elements by magnitude, largest first. Elements of this magnitude are above the
 * position if their index is below `cutoff` (`early`), otherwise if it is `cutoff` or more.
 */
export interface MagnitudeBound {
  readonly bits: number;
  readonly cutoff: number;
  readonly early: boolean;
}

/** Rule of a `vote`: only changes with the sign of their sum count, or with `tie` if the sum is 0. */
export interface Election {
  /** Weight changes in the sum. */
  readonly weighted: boolean;
  readonly tie: 'positive' | 'negative';
}

/** Operations of nodes; each has a struct of the same name in native/jobs/program.hpp. */
export type NodeOperation =
  | { readonly kind: 'linear'; readonly weights: readonly number[] }
  /** Like `linear`, with weights by row: `weights[row · inputs + input]`. */
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
  /** Like `drop`, with probabilities by the magnitude's rank in its row. Slices are whole rows. */
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
  /** Input 0 + scale · Σ weightᵢ · inputᵢ₊₁ / divisor, summed over changes that the election counts. */
  | {
      readonly kind: 'vote';
      /**
       * A weight per input except the first; with `each`, followed by the weights of changes that alone
       * count.
       */
      readonly weights: readonly number[];
      /** `each` counts all changes except 0; null counts 0 too. */
      readonly election: Election | 'each' | null;
      /** 1, the sum of counted weights, or the number of counted elements. */
      readonly divisor: 'none' | 'weights' | 'count';
      /** Lower limit of the divisor; with 0, a divisor of 0 becomes 1. */
      readonly least: number;
      readonly scale: number;
    }
  | { readonly kind: 'variance' }
  | { readonly kind: 'nearSwap'; readonly t: number }
  | { readonly kind: 'fisher'; readonly weights: readonly number[]; readonly eps: number }
  | { readonly kind: 'importance'; readonly divergences: Float64Array }
  | { readonly kind: 'select'; readonly rows: Rows; readonly kept: Uint8Array }
  /** `runs` holds triples (to, input, count), as in `RowSlicing`. */
  | { readonly kind: 'assemble'; readonly width: number; readonly runs: Float64Array }
  | { readonly kind: 'fillRows'; readonly from: number; readonly values: Float64Array }
  /** `terms` holds pairs (row, coefficient). Row r has terms starts[r] to starts[r + 1]. */
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

/** A matrix: its elements or, if `rank` is above 0, factors [rows, rank] and [rank, columns]. */
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
  /** The matrix's largest magnitude, for `nvfp4`; 0 for other schemes. */
  readonly largest: number;
}

export type QuantisingScheme = 'float8' | 'int8' | 'int4' | 'mxfp4' | 'nvfp4';

/** A value of a program, rounded to `dtype`. Inputs are numbered: sources, then earlier nodes. */
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
  /** Extent of the last dimension. */
  readonly columns: number;
  /** Values to check for NaN and infinity. */
  readonly watched: readonly number[];
  /** Read nothing ahead. */
  readonly scattered?: true;
}

/** A tensor to write. A source may go to several unchanged, a node to one only. */
export interface ProgramOutput extends Location {
  readonly value: number;
  readonly dtype: ArithmeticDtype;
  /** For the scales of a `quantise`, in float32: [row of blocks][column of blocks]. */
  readonly scales?: true;
}

/** Work on a slice of output tensors; copies give the slice in bytes. */
export type Job =
  | {
      readonly kind: 'copy';
      readonly source: Location;
      readonly to: Location;
      readonly first: number;
      readonly count: number;
    }
  /** Copies the first source if all are equal. */
  | {
      readonly kind: 'same';
      readonly sources: readonly Location[];
      readonly to: Location;
      readonly first: number;
      readonly count: number;
    }
  /** Computes outputs, reading common sources once. */
  | {
      readonly kind: 'compute';
      readonly program: NativeProgram;
      readonly outputs: readonly ProgramOutput[];
      /** Tally in shared memory for the program's only vote (`tally.ts`). */
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
  /**
   * The origin of NaN or infinity: a source, or the first node that is not finite although its inputs are.
   */
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
  /**
   * Watched values that are not finite, if the job is `done`. Measurements check only if sums are not finite.
   */
  readonly nonFinite: readonly NonFiniteElement[];
}

/** Words of the memory that the engine's threads share. */
export const control = { cancel: 0, bytesRead: 1, bytesWritten: 2, words: 3 } as const;
