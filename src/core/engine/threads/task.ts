import type { Job, JobStatus, NonFiniteElement } from '../../native/job.js';
import type { Measurement } from '../../native/measure.js';
import type { Solver } from '../../native/solve.js';
import type { Extent } from '../../tensor/extent.js';

// Messages between the engine and its workers. They are plain data, because structured clone drops classes.

export interface Tasks {
  /** Jobs to do in order. */
  run: readonly Job[];
  measure: Measurement;
  solve: Solver;
  hash: readonly PartOfFile[];
  checksum: number;
  digest: FileToDigest;
  compare: Comparison;
}

export interface Results {
  run: RunResult;
  measure: Computed<readonly Float64Array[]>;
  /** `found` has `sizeOfSolution` numbers. */
  solve: Computed<Float64Array>;
  hash: HashResult;
  checksum: ChecksumResult;
  digest: DigestResult;
  compare: CompareResult;
}

export type TaskName = keyof Tasks;

export interface Message<N extends TaskName = TaskName> {
  readonly name: N;
  readonly task: Tasks[N];
  readonly shared: SharedArrayBuffer;
}

export interface FoundNonFinite {
  readonly job: number;
  readonly elements: readonly NonFiniteElement[];
}

/** Result of jobs. `job` is the index of the failed job. */
export type RunResult =
  | { readonly ok: true; readonly nonFinite: readonly FoundNonFinite[] }
  | { readonly ok: false; readonly job: number; readonly status: JobStatus };

export type Computed<Found> =
  | { readonly ok: true; readonly found: Found; readonly nonFinite: readonly NonFiniteElement[] }
  | { readonly ok: false; readonly status: JobStatus };

/** Hash in hexadecimal; undefined if cancelled. */
export type ChecksumResult =
  | { readonly ok: true; readonly sha256: string | undefined }
  | { readonly ok: false; readonly reason: string };

/** A file that is hashed up to `begin`, and the state of its hash. */
export interface PartOfFile {
  readonly fd: number;
  readonly begin: number;
  readonly state: Uint32Array;
}

/** `hashed` is undefined if native code cannot hash these files. */
export interface HashResult {
  readonly hashed: readonly { readonly next: PartOfFile; readonly isLast: boolean }[] | undefined;
}

/** A file and its ranges, ordered, without overlap. */
export interface FileToDigest {
  readonly fd: number;
  readonly bytes: number;
  readonly ranges: readonly Extent[];
}

export interface FileDigests {
  readonly sha256: string;
  readonly ranges: readonly string[];
}

/** Undefined `digests` if cancelled. */
export type DigestResult =
  | { readonly ok: true; readonly digests: FileDigests | undefined }
  | { readonly ok: false; readonly reason: string };

export interface Comparison {
  readonly a: number;
  readonly b: number;
  readonly extents: readonly Extent[];
}

/** Offset of the first difference in each range; undefined if equal. */
export type CompareResult =
  | { readonly ok: true; readonly differences: readonly (number | undefined)[] }
  | { readonly ok: false; readonly reason: string };
