import type { Factorisation } from '../../native/factorise.js';
import type { Job, JobStatus, NonFiniteElement } from '../../native/job.js';
import type { Measurement } from '../../native/measure.js';
import type { Pursuit } from '../../native/pursue.js';
import type { Regression } from '../../native/regress.js';
import type { Spectral } from '../../native/spectral.js';
import type { Extent } from '../../tensor/extent.js';

// Messages between the engine and its workers: plain data, since structured clone drops classes.

/** Contiguous slices of a shard, and the shared memory. */
export interface RunTask {
  readonly jobs: readonly Job[];
  readonly shared: SharedArrayBuffer;
}

/** NaN and infinity among a job's watched values. */
export interface FoundNonFinite {
  readonly job: number;
  readonly elements: readonly NonFiniteElement[];
}

/** `job` indexes the failed one. */
export type RunResult =
  | { readonly ok: true; readonly nonFinite: readonly FoundNonFinite[] }
  | { readonly ok: false; readonly job: number; readonly status: JobStatus };

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

export interface FactoriseTask {
  readonly what: Factorisation;
  readonly shared: SharedArrayBuffer;
}

/** `found`: the numbers of `factorNumbers`, then the singular values. */
export type FactoriseResult =
  | { readonly ok: true; readonly found: Float64Array }
  | { readonly ok: false; readonly status: JobStatus };

export interface RegressTask {
  readonly what: Regression;
  readonly shared: SharedArrayBuffer;
}

/** `found`: the numbers of `regressionNumbers`. */
export type RegressResult =
  | {
      readonly ok: true;
      readonly found: Float64Array;
      readonly nonFinite: readonly NonFiniteElement[];
    }
  | { readonly ok: false; readonly status: JobStatus };

export interface SpectralTask {
  readonly what: Spectral;
  readonly shared: SharedArrayBuffer;
}

export type SpectralResult =
  | { readonly ok: true; readonly nonFinite: readonly NonFiniteElement[] }
  | { readonly ok: false; readonly status: JobStatus };

export interface PursueTask {
  readonly what: Pursuit;
  readonly shared: SharedArrayBuffer;
}

/** `found`: the numbers of each target (`src/core/native/pursue.ts`). */
export type PursueResult =
  | { readonly ok: true; readonly found: Float64Array }
  | { readonly ok: false; readonly status: JobStatus };

export interface ChecksumTask {
  readonly fd: number;
  readonly shared: SharedArrayBuffer;
}

/** In hexadecimal; undefined if cancelled. */
export type ChecksumResult =
  | { readonly ok: true; readonly sha256: string | undefined }
  | { readonly ok: false; readonly reason: string };

/** A file hashed up to `begin`, with the hash state. */
export interface PartOfFile {
  readonly fd: number;
  readonly begin: number;
  readonly state: Uint32Array;
}

export interface HashTask {
  readonly files: readonly PartOfFile[];
  readonly shared: SharedArrayBuffer;
}

/** Undefined if native code could not hash them. */
export interface HashResult {
  readonly hashed: readonly { readonly next: PartOfFile; readonly isLast: boolean }[] | undefined;
}

export interface CompareTask {
  readonly a: number;
  readonly b: number;
  readonly extents: readonly Extent[];
  readonly shared: SharedArrayBuffer;
}

/** By range, the offset of the first difference; undefined if equal. */
export type CompareResult =
  | { readonly ok: true; readonly differences: readonly (number | undefined)[] }
  | { readonly ok: false; readonly reason: string };
