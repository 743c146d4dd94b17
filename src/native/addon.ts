import { createRequire } from 'node:module';
import { constants } from 'node:os';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LayerloomError, reasonOf } from '../errors.js';
import { type ArithmeticDtype, arithmeticDtypes } from '../tensor/dtype.js';

// The addon's only door. Native code is given open files and byte ranges, never tensors, and answers with a status. The
// numbers below are those of the enumerations in native/jobs/job.hpp. It trusts nothing that it is given: a job that is ill
// typed or contradicts itself is a TypeError or a RangeError, before any file is touched.

/** Elements of one dtype in an open file, from a byte offset. */
export interface Range {
  readonly fd: number;
  readonly offset: number;
  readonly dtype: number;
}

export const rowSenses = { input: 0, output: 1 } as const;

export const jobKinds = { copy: 0, same: 1, compute: 2, rowSelect: 3 } as const;

/** In the order of `NodeKind` in native/jobs/program.hpp, where each says what its inputs and numbers are. */
export const nodeKinds = {
  linear: 0,
  rowLinear: 1,
  keep: 2,
  drop: 3,
  dropRanked: 4,
  vote: 5,
  variance: 6,
  nearSwap: 7,
  importance: 8,
  select: 9,
} as const;

/** A value of a program: of inputs numbered with the sources first, then the nodes before it. */
export interface ProgramNode {
  readonly kind: (typeof nodeKinds)[keyof typeof nodeKinds];
  readonly dtype: number;
  readonly inputs: readonly number[];
  readonly numbers: readonly number[];
  /** Numbers of rows, from row `tableRow` on; in memory that threads share. */
  readonly table?: Float64Array;
  readonly tableRow?: number;
}

/** How a tensor's elements come about from those of the sources; the last node is the result. */
export interface NativeProgram {
  readonly nodes: readonly ProgramNode[];
  /** The slice's first element in the tensor, and the elements of a row. */
  readonly first: number;
  readonly columns: number;
}

/**
 * A slice of one output tensor, or for `compute` of several that are made of the same inputs, which are read once for all. `count` is in elements for
 * `compute`, in bytes for the others, which know no dtype.
 */
export interface Job {
  readonly kind: (typeof jobKinds)[keyof typeof jobKinds];
  readonly sources: readonly Range[];
  /** For `compute`. */
  readonly program?: NativeProgram;
  /** For `compute`: values of the program, and where they go. A source may go anywhere as it stands, a node to one place. */
  readonly outputs?: readonly { readonly value: number; readonly to: Range }[];
  /** For the others. */
  readonly output?: Range;
  readonly count: number;
  /**
   * For `rowSelect`: a 1 for each row that is the first source's, where the others are the second's; the matrix's columns and bytes an
   * element; and the slice's first byte in it.
   */
  readonly select?: {
    readonly kept: Uint8Array;
    readonly columns: number;
    readonly width: number;
    readonly first: number;
    readonly sense: (typeof rowSenses)[keyof typeof rowSenses];
  };
}

/** A block of whole rows of a matrix, as its base and the experts (`sources`, in this order) have it. */
export interface Reduction {
  readonly sources: readonly Range[];
  readonly rows: number;
  readonly columns: number;
  readonly sense: (typeof rowSenses)[keyof typeof rowSenses];
}

/** What a reduction found: arrays of the right lengths, which it fills. */
export interface Sums {
  /** Σ |expert − base|: for each expert a number for each column (`input`) or row (`output`). */
  readonly magnitudes: Float64Array;
  /** For each pair of experts i ≤ j, in order: Σ δᵢδⱼ, elements that both changed, those with one sign. May be empty. */
  readonly pairs: Float64Array;
  /** For each source, elements that are no finite numbers. */
  readonly nonFinite: Float64Array;
}

/** In the order of `MeasureKind` in native/jobs/measure.hpp. */
export const measureKinds = {
  gram: 0,
  rowGram: 1,
  columnGram: 2,
  magnitudes: 3,
  histogram: 4,
  ties: 5,
  findTie: 6,
  divergence: 7,
  signs: 8,
} as const;

export type MeasureKind = keyof typeof measureKinds;

/** A block of whole rows of a tensor, and what to find of some values of a program over it. */
export interface Measurement {
  readonly kind: (typeof measureKinds)[MeasureKind];
  readonly sources: readonly Range[];
  readonly program: NativeProgram;
  /** Elements. */
  readonly count: number;
  readonly values: readonly number[];
  readonly numbers: Float64Array;
  readonly bins: number;
}

export const outcomes = [
  'done',
  'cancelled',
  'inputShrank',
  'readFailed',
  'writeFailed',
  'notEqual',
] as const;

export type Outcome = (typeof outcomes)[number];

export interface JobStatus {
  readonly outcome: Outcome;
  /** Which source, for `inputShrank`, `readFailed` and `notEqual`. */
  readonly source: number;
  /** What the system said, for `readFailed` and `writeFailed`. */
  readonly reason: string;
}

/** The words of the memory that the engine's threads share. */
export const control = { cancel: 0, bytesRead: 1, bytesWritten: 2, words: 3 } as const;

interface Addon {
  /** Those that this machine runs, best first. */
  readonly instructionSets: readonly string[];
  /** The one in use; null where LAYERLOOM_ISA names none of them. */
  readonly instructionSet: string | null;
  execute(
    job: Job,
    control: BigInt64Array,
  ): { outcome: number; source: number; error: number; message: string };
  reduce(
    reduction: Reduction,
    sums: Sums,
    control: BigInt64Array,
  ): { outcome: number; source: number; error: number; message: string };
  measure(
    measurement: Measurement,
    out: Float64Array,
    counts: Uint32Array,
    control: BigInt64Array,
  ): { outcome: number; source: number; error: number; message: string };
  /** 0 when the file's lock was taken, else an errno. */
  lock(fd: number): number;
  /** False where the file system has no such step. */
  exchange(a: string, b: string): boolean;
}

/** @param other another build of the addon, such as one with a sanitizer (CONTRIBUTING.md) */
const fileOf = (other: string | undefined): string =>
  other !== undefined && other !== ''
    ? resolve(other)
    : fileURLToPath(
        new URL(`../../prebuilds/${process.platform}-${process.arch}/layerloom.node`, import.meta.url),
      );

const load = (): Addon => {
  const file = fileOf(process.env['LAYERLOOM_ADDON']);
  try {
    return createRequire(import.meta.url)(file) as Addon;
  } catch (cause) {
    throw new LayerloomError(
      'ADDON_MISSING',
      { file, reason: reasonOf(cause).split('\n')[0] ?? '' },
      { cause },
    );
  }
};

let loaded: Addon | undefined;

/** @throws LayerloomError ADDON_MISSING, INSTRUCTION_SET */
const addon = (): Addon => {
  loaded ??= load();
  if (loaded.instructionSet === null)
    throw new LayerloomError('INSTRUCTION_SET', {
      requested: process.env['LAYERLOOM_ISA'] ?? '',
      available: loaded.instructionSets,
    });
  return loaded;
};

export const dtypeIndex = (dtype: ArithmeticDtype): number => arithmeticDtypes.indexOf(dtype);

/** Runs a job on the calling thread: the worker thread is the asynchrony. Stops at its next tile once `control` says so. */
export const execute = (job: Job, shared: BigInt64Array): JobStatus => statusOf(addon().execute(job, shared));

/** Sums over a block of rows, on the calling thread. */
export const reduce = (reduction: Reduction, sums: Sums, shared: BigInt64Array): JobStatus =>
  statusOf(addon().reduce(reduction, sums, shared));

/** Measures a block, on the calling thread: fills `out`, and adds to `counts`, which threads share. */
export const measure = (
  measurement: Measurement,
  out: Float64Array,
  counts: Uint32Array,
  shared: BigInt64Array,
): JobStatus => statusOf(addon().measure(measurement, out, counts, shared));

const statusOf = (status: ReturnType<Addon['execute']>): JobStatus => ({
  outcome: outcomes[status.outcome] ?? 'writeFailed',
  source: status.source,
  reason: status.message,
});

/** The instruction set that kernels use on this machine, and those it could: LAYERLOOM_ISA chooses. */
export const instructionSets = (): { readonly chosen: string; readonly available: readonly string[] } => {
  const { instructionSet, instructionSets: available } = addon();
  return { chosen: instructionSet ?? '', available };
};

/** Takes an open file's exclusive lock, held until it is closed or the process ends, however it ends. */
export const tryLock = (fd: number): 'taken' | 'held elsewhere' | 'unsupported' => {
  const { EAGAIN, EWOULDBLOCK } = constants.errno;
  const error = addon().lock(fd);
  if (error === 0) return 'taken';
  return error === EAGAIN || error === EWOULDBLOCK ? 'held elsewhere' : 'unsupported';
};

/** Exchanges two directory entries in one step; false where the file system cannot. */
export const exchange = (a: string, b: string): boolean => addon().exchange(a, b);
