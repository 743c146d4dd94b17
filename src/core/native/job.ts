import type { BlockForm } from '../tensor/block-form.js';
import type { ArithmeticDtype } from '../tensor/dtype.js';
import type { CodeKind, CodeOrder, FactorKind } from '../tensor/quantised-form.js';
import type { Rows } from '../tensor/rows.js';

// Jobs as the addon takes them; native/addon/decode.cpp and decode_program.cpp read them. An ill-typed job, or one that
// contradicts itself, is a TypeError or a RangeError before any file is touched.

/** The first byte of a tensor, in an open file. */
export interface Location {
  readonly fd: number;
  readonly begin: number;
}

/**
 * A stored tensor that a program is over. `slicing` says which part of it a slice of the output is made of; native code finds
 * its bytes.
 *
 * - `elements`: element i of the output is made of element i of the source.
 * - `rows`: rows of the output are made of rows of the source as runs say; a row that none has is 0. Goes to no output as it
 *   stands.
 * - `whole`: every slice of the output is made of all of the source, which has another shape: only a `product`,
 *   `combineRows`, `dequantise` and `unpack` take it.
 */
export type StoredSource = Location & { readonly dtype: ArithmeticDtype } & (
    | { readonly slicing: 'elements' }
    | RowSlicing
    | WholeSlicing
  );

/** Rows of `width` elements in another order. */
export interface RowSlicing {
  readonly slicing: 'rows';
  readonly width: number;
  /**
   * Three numbers for each run, in memory that threads share: rows [to, to + count) of the output are rows
   * [from, from + count) of the source, as to, from, count. Ascending by `to` and disjoint.
   */
  readonly runs: Float64Array;
}

/** A source of `elements` elements that each slice of the output needs wholly. */
export interface WholeSlicing {
  readonly slicing: 'whole';
  readonly elements: number;
}

/**
 * A place in the order of a tensor's elements by magnitude, largest first. Elements of exactly its magnitude are above it where
 * their index is before `cutoff` (`early`), or from it on (not `early`).
 */
export interface MagnitudeBound {
  /** The magnitude as a float32. */
  readonly bits: number;
  readonly cutoff: number;
  readonly early: boolean;
}

/** Which elements of the changes count in a `vote`: those whose sign is that of the sum, or `tie` where the sum is 0. */
export interface Election {
  /** The sum is weighted. */
  readonly weighted: boolean;
  readonly tie: 'positive' | 'negative';
}

/** An operation of a node on its inputs. All but `linear`, `rowLinear` and those that take bits compute in float32. */
export type NodeOperation =
  /** Σ weightᵢ · inputᵢ, terms in order (docs/numbers.md). */
  | { readonly kind: 'linear'; readonly weights: readonly number[] }
  /** The same with weights of each row's own: `weights[row · inputs + input]`. */
  | { readonly kind: 'rowLinear'; readonly rows: Rows; readonly weights: Float64Array }
  /** Input 0 · scale where the magnitude of input 1 is above `lower` and not above `upper`, else 0. */
  | {
      readonly kind: 'keep';
      readonly lower: MagnitudeBound;
      readonly upper: MagnitudeBound;
      readonly scale: number;
    }
  /** Input 0 · scale where the element's random number, which follows from the key and its index, is below a probability; else 0. */
  | {
      readonly kind: 'drop';
      /** 64 bits. */
      readonly key: bigint;
      readonly probability: number;
      readonly scale: number;
    }
  /** The same, the probability rising with the magnitude's rank in the row from `lowest` to `highest`. Slices are whole rows. */
  | {
      readonly kind: 'dropRanked';
      readonly key: bigint;
      readonly lowest: number;
      readonly highest: number;
      readonly scale: number;
    }
  /** A random number of a distribution · scale for each element, of no inputs; 0 where the scale is 0. */
  | {
      readonly kind: 'random';
      readonly key: bigint;
      /** The standard normal one, or the uniform one between −1 and 1. */
      readonly distribution: 'normal' | 'uniform';
      readonly scale: number;
    }
  /** Input 0 + scale · Σ weightᵢ · inputᵢ₊₁ / divisor, over the elements that count. */
  | {
      readonly kind: 'vote';
      /** One for each input but the first. */
      readonly weights: readonly number[];
      /** Null: every element counts. */
      readonly election: Election | null;
      /** 1, the sum of the weights that count, or how many count. */
      readonly divisor: 'none' | 'weights' | 'count';
      /** Lower limit of the divisor; 0: a divisor of 0 is taken as 1. */
      readonly least: number;
      readonly scale: number;
    }
  /** The population variance of the inputs. */
  | { readonly kind: 'variance' }
  /** Input 0 moved towards input 1, by at most t. */
  | { readonly kind: 'nearSwap'; readonly t: number }
  /**
   * The mean of the first half of the inputs, each element weighted by its input's weight times its importance, in the second
   * half, plus `eps`.
   */
  | { readonly kind: 'fisher'; readonly weights: readonly number[]; readonly eps: number }
  /** |input 0 − input 1| · the divergence of its row. */
  | { readonly kind: 'importance'; readonly divergences: Float64Array }
  /** Rows of input 0 where `kept` is not 0, else of input 1: their bits as they are, whatever the dtype. */
  | { readonly kind: 'select'; readonly rows: Rows; readonly kept: Uint8Array }
  /** Rows of `width` elements, of one input each, bit by bit: `runs` has to, input, count as `RowSlicing` has to, from, count. */
  | { readonly kind: 'assemble'; readonly width: number; readonly runs: Float64Array }
  /** Input 0 bit by bit, but for the rows from `from` on: these are `values`, one for each column. */
  | { readonly kind: 'fillRows'; readonly from: number; readonly values: Float64Array }
  /**
   * Rows of `width` elements that are sums of rows of input 0, which is `whole`: row r is Σ coefficient · row of the terms
   * from starts[r] to starts[r + 1], which `terms` has as row, coefficient; in float64, rounded to float32.
   */
  | {
      readonly kind: 'combineRows';
      readonly width: number;
      readonly starts: Float64Array;
      readonly terms: Float64Array;
    }
  /**
   * B · A in float32, input 0 being A [rank, in] and input 1 B [out, rank], both `whole`; transposed (B · A)ᵀ [in, out]. Sums
   * over the rank in one fixed order (docs/numbers.md). Slices are whole rows. Of several experts it is their matrices, one
   * behind the other, from `row` of these on: A is then [experts · rank, in], B [out, rank · experts], the experts of a rank
   * side by side.
   */
  | {
      readonly kind: 'product';
      readonly rank: number;
      readonly transposed: boolean;
      readonly experts: number;
      readonly row: number;
    }
  | ({ readonly kind: 'dequantise' } & Dequantisation)
  /** A tensor that GGUF stores in blocks, in float32: input 0, bytes, is `whole`. */
  | ({ readonly kind: 'unpack' } & BlockForm)
  /**
   * Input 0 quantised: what its codes stand for, in float32, or its `codes`, a byte each, which the node's dtype says nothing
   * of. Slices are whole rows of blocks.
   */
  | ({ readonly kind: 'quantise'; readonly codes: boolean } & Quantisation);

/** How matrices of codes are written, one behind the other (`src/core/tensor/quantised-form.ts`). */
export interface CodesInRows {
  readonly codes: CodeKind;
  readonly order: CodeOrder;
  readonly rows: number;
  readonly width: number;
  readonly stride: number;
}

/**
 * A quantised tensor: the number of each code, less the zero point of its block, times its scale. Inputs are codes, scales
 * ([matrix][row of blocks][column of blocks]) and, where there are such, in this order: a factor of all scales, zero points,
 * groups, and the 256 numbers and the scales of nested scales; all are `whole`.
 */
export interface Dequantisation extends CodesInRows {
  /** Of their dtype; bytes e that stand for 2^(e − 127); or bytes that stand for numbers, times a scale, plus an offset. */
  readonly scales: 'floats' | 'exponents' | 'nested';
  readonly factor: FactorKind | 'none';
  readonly blockRows: number;
  readonly blockColumns: number;
  /** The output has each matrix transposed. */
  readonly transposed: boolean;
  /** A zero point for each block, in codes of a matrix of blocks; `oneMore` than is written, the largest for the smallest. */
  readonly zeros: (CodesInRows & { readonly oneMore: boolean }) | null;
  /**
   * Input features are in groups as an input of little-endian numbers of 32 bits says, and not side by side: those are the
   * columns, or the rows of a transposed tensor. A feature of no group that there is makes NaN.
   */
  readonly groups: boolean;
  /** Scales that share a scale, and the offset of all. */
  readonly nested: { readonly block: number; readonly offset: number } | null;
  /** Products are multiplied by it, and rounded again. */
  readonly after: number;
}

/** How a matrix is quantised: blocks of rows and columns, cut at its edges, share a scale. */
export interface Quantisation {
  readonly scheme: QuantisingScheme;
  /** Rows of the matrix. */
  readonly rows: number;
  readonly blockRows: number;
  readonly blockColumns: number;
  /** The largest magnitude of the matrix, which the factor of `nvfp4` follows from; 0 elsewhere. */
  readonly largest: number;
}

/** What `Quantise` of native/jobs/program.hpp makes scales and codes of. */
export type QuantisingScheme = 'float8' | 'int8' | 'int4' | 'mxfp4' | 'nvfp4';

/** A value of a program: of inputs numbered with the sources first, then the nodes before it; rounded to `dtype`. */
export type ProgramNode = NodeOperation & {
  readonly dtype: ArithmeticDtype;
  readonly inputs: readonly number[];
};

/** A program for elements [first, first + count) of a tensor, over stored ones. */
export interface NativeProgram {
  readonly sources: readonly StoredSource[];
  readonly nodes: readonly ProgramNode[];
  readonly first: number;
  readonly count: number;
  /** Elements of a row: the extent of the last dimension. */
  readonly columns: number;
  /** Values to look at for elements that are no finite numbers. */
  readonly watched: readonly number[];
}

/** A value of a program, and the tensor that it goes to. A source may go anywhere as it stands, a node to one tensor. */
export interface ProgramOutput extends Location {
  readonly value: number;
  readonly dtype: ArithmeticDtype;
  /** The tensor is of the scales of a `quantise`, in float32, one for each block: [row of blocks][column of blocks]. */
  readonly scales?: true;
}

/** A slice of output tensors. `first` and `count` are in bytes where bytes are copied. */
export type Job =
  | {
      readonly kind: 'copy';
      readonly source: Location;
      readonly to: Location;
      readonly first: number;
      readonly count: number;
    }
  /** Copies the first source, once all others are found to have the same bytes. */
  | {
      readonly kind: 'same';
      readonly sources: readonly Location[];
      readonly to: Location;
      readonly first: number;
      readonly count: number;
    }
  /** Several outputs that are made of the same sources, which are read once for all. */
  | {
      readonly kind: 'compute';
      readonly program: NativeProgram;
      readonly outputs: readonly ProgramOutput[];
      /** Memory that threads share, to which is added what lies at the bounds of the program's one vote (`tally.ts`). */
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

/** The first element, of the slice, of a watched value that is no finite number. */
export interface NonFiniteElement {
  /** The value. */
  readonly watched: number;
  /** Where it comes from: a source, or the first node that is not finite though all its inputs are. */
  readonly cause: number;
  /** Index in the tensor. */
  readonly element: number;
  /** NaN or an infinity. */
  readonly number: number;
}

export interface JobStatus {
  readonly outcome: Outcome;
  /** Which source, for `inputShrank`, `readFailed` and `notEqual`. */
  readonly source: number;
  /** The message of the system, for `readFailed` and `writeFailed`. */
  readonly reason: string;
  /** For `done`: one for each watched value that is not finite. A measurement looks where its sums are not finite. */
  readonly nonFinite: readonly NonFiniteElement[];
}

/** The words of the memory that the engine's threads share. */
export const control = { cancel: 0, bytesRead: 1, bytesWritten: 2, words: 3 } as const;
