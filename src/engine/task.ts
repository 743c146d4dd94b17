import type { Job, JobStatus } from '../native/addon.js';

/** What a worker is given: slices that follow each other in one shard, and the memory it shares with the engine. */
export interface Task {
  readonly jobs: readonly Job[];
  readonly shared: SharedArrayBuffer;
}

/** The other work of a worker: the SHA-256 of a file. */
export interface ChecksumTask {
  readonly path: string;
  readonly shared: SharedArrayBuffer;
}

/** What a worker answers to a task: plain data, since structured clone drops classes. `job` indexes the one that did not end well. */
export type TaskResult =
  | { readonly ok: true }
  | { readonly ok: false; readonly job: number; readonly status: JobStatus };
