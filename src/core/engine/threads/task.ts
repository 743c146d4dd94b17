import type { Factorisation } from '../../native/factorise.js';
import type { Job, JobStatus, NonFiniteElement } from '../../native/job.js';
import type { Measurement } from '../../native/measure.js';
import type { Pursuit } from '../../native/pursue.js';
import type { Regression } from '../../native/regress.js';
import type { Spectral } from '../../native/spectral.js';
import type { Extent } from '../../tensor/extent.js';

// Messages between the engine and its workers: plain data, since structured clone drops classes.

/** Slices that follow each other in one shard, and the memory that worker and engine share. */
export interface RunTask {
  readonly jobs: readonly Job[];
  readonly shared: SharedArrayBuffer;
}

/** What a job found of its watched values. */
export interface FoundNonFinite {
  readonly job: number;
  readonly elements: readonly NonFiniteElement[];
}

/** `job` indexes the one that did not end well. */
export type RunResult =
  | { readonly ok: true; readonly nonFinite: readonly FoundNonFinite[] }
  | { readonly ok: false; readonly job: number; readonly status: JobStatus };

/** A block to measure. */
export interface MeasureTask {
  readonly measurement: Measurement;
  readonly shared: SharedArrayBuffer;
}

/** `found` has an array for each measure. */
export type MeasureResult =
  | {
      readonly ok: true;
      readonly found: readonly Float64Array[];
      readonly nonFinite: readonly NonFiniteElement[];
    }
  | { readonly ok: false; readonly status: JobStatus };

/** A matrix to factorise. */
export interface FactoriseTask {
  readonly what: Factorisation;
  readonly shared: SharedArrayBuffer;
}

/** `found` has the numbers of `factorNumbers`, then the singular values. */
export type FactoriseResult =
  | { readonly ok: true; readonly found: Float64Array }
  | { readonly ok: false; readonly status: JobStatus };

/** Matrices to merge by a regression. */
export interface RegressTask {
  readonly what: Regression;
  readonly shared: SharedArrayBuffer;
}

/** `found` has the numbers of `regressionNumbers`. */
export type RegressResult =
  | {
      readonly ok: true;
      readonly found: Float64Array;
      readonly nonFinite: readonly NonFiniteElement[];
    }
  | { readonly ok: false; readonly status: JobStatus };

/** Matrices to merge by singular values. */
export interface SpectralTask {
  readonly what: Spectral;
  readonly shared: SharedArrayBuffer;
}

export type SpectralResult =
  | { readonly ok: true; readonly nonFinite: readonly NonFiniteElement[] }
  | { readonly ok: false; readonly status: JobStatus };

/** Rows to approximate. */
export interface PursueTask {
  readonly what: Pursuit;
  readonly shared: SharedArrayBuffer;
}

/** `found` has the numbers of each target (`src/core/native/pursue.ts`). */
export type PursueResult =
  | { readonly ok: true; readonly found: Float64Array }
  | { readonly ok: false; readonly status: JobStatus };

/** The SHA-256 of an open file. */
export interface ChecksumTask {
  readonly fd: number;
  readonly shared: SharedArrayBuffer;
}

/** In hexadecimal; undefined when cancelled. */
export type ChecksumResult =
  | { readonly ok: true; readonly sha256: string | undefined }
  | { readonly ok: false; readonly reason: string };

/** A file of which the bytes before `begin` are hashed, to this state. */
export interface PartOfFile {
  readonly fd: number;
  readonly begin: number;
  readonly state: Uint32Array;
}

/** The next parts of one file or of two. */
export interface HashTask {
  readonly files: readonly PartOfFile[];
  readonly shared: SharedArrayBuffer;
}

/** Where the parts end, and whether their files end there; undefined where native code could not hash them. */
export interface HashResult {
  readonly hashed: readonly { readonly next: PartOfFile; readonly isLast: boolean }[] | undefined;
}

/** Ranges of bytes that two open files should have alike. */
export interface CompareTask {
  readonly a: number;
  readonly b: number;
  readonly extents: readonly Extent[];
  readonly shared: SharedArrayBuffer;
}

/** For each range where the first byte lies that one file has not as the other; undefined where there is none. */
export type CompareResult =
  | { readonly ok: true; readonly differences: readonly (number | undefined)[] }
  | { readonly ok: false; readonly reason: string };
