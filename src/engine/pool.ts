import { Piscina } from 'piscina';
import { control, type Measurement, type Reduction } from '../native/addon.js';
import type {
  ChecksumResult,
  ChecksumTask,
  MeasureResult,
  MeasureTask,
  ReduceResult,
  ReduceTask,
  Task,
  TaskResult,
} from './task.js';

/** Compiled, also where this file is run from its source: a worker thread cannot load TypeScript on Node 20. */
const workerFile = new URL('../../dist/engine/worker-entry.cjs', import.meta.url).href;

/** Counters that worker threads add to while they run. */
export interface Counters {
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

/**
 * Worker threads that run native jobs, and the memory they share: one flag that stops them all, and what they have done. The first reason to
 * stop, be it a failure or the caller's signal, is the one that is reported.
 */
export class WorkerPool {
  readonly threads: number;
  readonly #piscina: Piscina<
    Task | ReduceTask | MeasureTask | ChecksumTask,
    TaskResult | ReduceResult | MeasureResult | ChecksumResult
  >;
  readonly #shared = new SharedArrayBuffer(control.words * BigInt64Array.BYTES_PER_ELEMENT);
  readonly #control = new BigInt64Array(this.#shared);
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.stop(this.#signal.reason);
  #stopped: { readonly reason: unknown } | undefined;

  constructor(threads: number, signal: AbortSignal) {
    this.threads = threads;
    this.#signal = signal;
    this.#piscina = new Piscina({
      filename: workerFile,
      // Nothing of the caller's: flags such as --input-type are meant for its own script.
      execArgv: [],
      minThreads: threads,
      maxThreads: threads,
      // A second task waits at each worker, which so need not wait for the main thread between two.
      concurrentTasksPerWorker: 2,
      // Workers hold no tensors: a small heap is enough, and keeps the process small with many threads.
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 },
    });
    this.#piscina.on('error', (error: unknown) => this.stop(error));
    signal.addEventListener('abort', this.#onAbort);
    if (signal.aborted) this.#onAbort();
  }

  /** Stops every job under way at its next tile, and every lane before its next task. */
  stop(reason: unknown): void {
    this.#stopped ??= { reason };
    Atomics.store(this.#control, control.cancel, 1n);
  }

  get stopped(): boolean {
    return this.#stopped !== undefined;
  }

  /**
   * Runs a piece of work in as many lanes as keep every thread busy: one task running and one waiting in each. Returns, or throws the reason to stop,
   * when no lane has a task under way.
   */
  async inLanes(work: () => Promise<void>): Promise<void> {
    const lane = () => work().catch((error: unknown) => this.stop(error));
    if (!this.stopped) await Promise.all(Array.from({ length: this.threads * 2 }, lane));
    this.throwIfStopped();
  }

  /** Throws the reason to stop, where there is one. */
  throwIfStopped(): void {
    if (this.#stopped !== undefined) throw this.#stopped.reason;
  }

  /** The signal that piscina takes would end the thread in the middle of a write; `stop` lets it end its tile. */
  run(jobs: Task['jobs']): Promise<TaskResult> {
    return this.#piscina.run({ jobs, shared: this.#shared }, { name: 'execute' }) as Promise<TaskResult>;
  }

  reduce(reduction: Reduction, pairs: boolean): Promise<ReduceResult> {
    const task: ReduceTask = { reduction, pairs, shared: this.#shared };
    return this.#piscina.run(task, { name: 'reduceRows' }) as Promise<ReduceResult>;
  }

  measure(measurement: Measurement, size: number, counts: Uint32Array): Promise<MeasureResult> {
    const task: MeasureTask = { measurement, size, counts, shared: this.#shared };
    return this.#piscina.run(task, { name: 'measureBlock' }) as Promise<MeasureResult>;
  }

  checksum(fd: number): Promise<ChecksumResult> {
    return this.#piscina.run({ fd, shared: this.#shared }, { name: 'checksum' }) as Promise<ChecksumResult>;
  }

  get counters(): Counters {
    const read = (word: number) => Number(Atomics.load(this.#control, word));
    return { bytesRead: read(control.bytesRead), bytesWritten: read(control.bytesWritten) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#signal.removeEventListener('abort', this.#onAbort);
    await this.#piscina.destroy();
  }
}
