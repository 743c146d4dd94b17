import type { Job, JobStatus, Measurement, Reduction, Sums } from '../../native/addon.js';

// What passes between the engine and its workers: plain data, since structured clone drops classes.

/** Slices that follow each other in one shard, and the memory that worker and engine share. */
export interface Task {
  readonly jobs: readonly Job[];
  readonly shared: SharedArrayBuffer;
}

/** `job` indexes the one that did not end well. */
export type TaskResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly job: number; readonly status: JobStatus };

/** A block of rows to sum. */
export interface ReduceTask {
  readonly reduction: Reduction;
  readonly pairs: boolean;
  readonly shared: SharedArrayBuffer;
}

export type ReduceResult =
  | { readonly ok: true; readonly sums: Sums }
  | { readonly ok: false; readonly status: JobStatus };

/** A block to measure: `size` numbers come back, and counts are added to `counts`, which threads share. */
export interface MeasureTask {
  readonly measurement: Measurement;
  readonly size: number;
  readonly counts: Uint32Array;
  readonly shared: SharedArrayBuffer;
}

export type MeasureResult =
  | { readonly ok: true; readonly out: Float64Array }
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
