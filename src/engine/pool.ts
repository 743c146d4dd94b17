import { Piscina } from 'piscina';
import { control } from '../native/addon.js';
import type { ChecksumTask, Task, TaskResult } from './task.js';

/** Compiled, also where this file is run from its source: a worker thread cannot load TypeScript on Node 20. */
const workerFile = new URL('../../dist/engine/worker.js', import.meta.url).href;

/** Counters that worker threads add to while they run. */
export interface Counters {
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

/** Worker threads that run native jobs, and the memory they share: one flag that stops them, and what they have done. */
export class WorkerPool {
  readonly threads: number;
  readonly #piscina: Piscina<Task | ChecksumTask, TaskResult | string | undefined>;
  readonly #shared = new SharedArrayBuffer(control.words * BigInt64Array.BYTES_PER_ELEMENT);
  readonly #control = new BigInt64Array(this.#shared);

  constructor(threads: number) {
    this.threads = threads;
    this.#piscina = new Piscina({
      filename: workerFile,
      minThreads: threads,
      maxThreads: threads,
      // A second task waits at each worker, which so need not wait for the main thread between two.
      concurrentTasksPerWorker: 2,
      // Workers hold no tensors: a small heap is enough, and keeps the process small with many threads.
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 },
    });
  }

  /** Tasks worth having under way at once: one running and one waiting in each thread. */
  get lanes(): number {
    return this.threads * 2;
  }

  /** The signal that piscina takes would end the thread in the middle of a write; `cancel` lets it end its tile. */
  run(jobs: Task['jobs']): Promise<TaskResult> {
    return this.#piscina.run({ jobs, shared: this.#shared }) as Promise<TaskResult>;
  }

  /** A file's SHA-256 in hexadecimal; undefined when cancelled. */
  checksum(path: string): Promise<string | undefined> {
    return this.#piscina.run({ path, shared: this.#shared }, { name: 'checksum' }) as Promise<
      string | undefined
    >;
  }

  /** Stops every job under way at its next tile. */
  cancel(): void {
    Atomics.store(this.#control, control.cancel, 1n);
  }

  get counters(): Counters {
    const read = (word: number) => Number(Atomics.load(this.#control, word));
    return { bytesRead: read(control.bytesRead), bytesWritten: read(control.bytesWritten) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#piscina.destroy();
  }
}
