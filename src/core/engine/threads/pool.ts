import { setImmediate } from 'node:timers/promises';
import { LayerloomError } from '../../base/errors/errors.js';
import { control, type Job } from '../../native/job.js';
import type { Measurement } from '../../native/measure.js';
import type { Solver } from '../../native/solve.js';
import type { Extent } from '../../tensor/extent.js';
import { Hashing } from './hashing.js';
import type {
  ChecksumResult,
  CompareResult,
  FileDigests,
  FileToDigest,
  Results,
  TaskName,
  Tasks,
} from './task.js';
import { Threads, tasksOfThread } from './threads.js';

export interface Counters {
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

/** After a slower task on the main thread, threads go on: the storage may hang. */
const slowMilliseconds = 100;

/**
 * Worker threads with a shared cancel flag and counters. Reports the first reason to stop: a failure or the
 * caller's signal.
 *
 * Threads end only after all tasks: ended inside the addon, one would crash the process. Callers may leave
 * promises unawaited, as `Promise.all` does after a failure.
 */
export class WorkerPool {
  #threads: number;
  readonly #shared = new SharedArrayBuffer(control.words * BigInt64Array.BYTES_PER_ELEMENT);
  readonly #control = new BigInt64Array(this.#shared);
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.stop(this.#signal.reason);
  #started: Promise<Threads> | undefined;
  #main = false;
  readonly #tasks = new Set<Promise<unknown>>();
  #begun = 0;
  readonly #hashing = new Hashing({
    idle: () => Math.ceil(this.threads / 2) - this.#begun,
    hash: (files) => this.#carryOut('hash', files),
    checksum: (fd) => this.#carryOut('checksum', fd),
  });
  #room: number;
  /** Tasks that wait for a slot, here instead of in piscina, so that a stopped pool can drop them. */
  readonly #waiting: (() => void)[] = [];
  #stopped: { readonly reason: unknown } | undefined;
  #disposal: Promise<void> | undefined;

  constructor(threads: number, signal: AbortSignal) {
    this.#threads = threads;
    this.#room = threads * tasksOfThread;
    this.#signal = signal;
    signal.addEventListener('abort', this.#onAbort);
    if (signal.aborted) this.#onAbort();
  }

  get threads(): number {
    return this.#threads;
  }

  useThreads(threads: number): void {
    if (this.#started !== undefined) throw new Error('the threads have been started');
    this.#threads = threads;
    this.#room = threads * tasksOfThread;
  }

  /**
   * Computes on the main thread until a task is slow. Hashes and comparisons still use threads.
   */
  useMainThread(): void {
    this.useThreads(1);
    this.#main = true;
  }

  /** Stops jobs at their next tile, and lanes before their next task. Keeps the first reason. */
  stop(reason: unknown): void {
    this.#stopped ??= { reason };
    Atomics.store(this.#control, control.cancel, 1n);
  }

  get stopped(): boolean {
    return this.#stopped !== undefined;
  }

  /**
   * Runs `work` in two lanes per thread, so that one task runs and one is queued. An error in a lane stops
   * the pool. Waits until no task is running; then throws the reason if the pool was stopped.
   */
  async inLanes(work: () => Promise<void>): Promise<void> {
    const lane = () => work().catch((error: unknown) => this.stop(error));
    if (!this.stopped) await Promise.all(Array.from({ length: this.threads * tasksOfThread }, lane));
    await this.#idle();
    this.throwIfStopped();
  }

  eachInLanes<T>(items: Iterable<T>, work: (item: T) => Promise<void>): Promise<void> {
    const waiting = items[Symbol.iterator]();
    return this.inLanes(async () => {
      for (let next = waiting.next(); !next.done && !this.stopped; next = waiting.next())
        await work(next.value);
    });
  }

  throwIfStopped(): void {
    if (this.#stopped !== undefined) throw this.#stopped.reason;
  }

  // Throws the reason in a stopped pool, or if the cancel flag ended the job. A job that ends before it sees
  // the flag returns its result.

  run(jobs: readonly Job[]): Promise<Results['run']> {
    return this.#computed('run', jobs);
  }

  measure(measurement: Measurement): Promise<Results['measure']> {
    return this.#computed('measure', measurement);
  }

  solve(solver: Solver): Promise<Results['solve']> {
    return this.#computed('solve', solver);
  }

  /**
   * Hashes a file. If the pool is stopped, the result has neither hash nor error.
   *
   * @param mayWait may wait, while cores are busy, for another file to hash together
   */
  checksum(fd: number, mayWait = true): Promise<ChecksumResult> {
    return this.#tracked(this.#hashing.add(fd, mayWait));
  }

  /**
   * Hashes a file and its ranges, reading it once; undefined in a stopped pool.
   *
   * @throws READ_FAILED
   */
  async digest(file: FileToDigest, path: string): Promise<FileDigests | undefined> {
    const result = await this.#task('digest', file);
    if (result?.ok === false) throw new LayerloomError('READ_FAILED', { file: path, reason: result.reason });
    return result?.digests;
  }

  /** Compares ranges of two files. In a stopped pool, throws the reason. */
  async compare(a: number, b: number, extents: readonly Extent[]): Promise<CompareResult> {
    const result = await this.#task('compare', { a, b, extents });
    if (result === undefined || this.stopped) throw this.#stopped?.reason;
    return result;
  }

  get counters(): Counters {
    const read = (word: number) => Number(Atomics.load(this.#control, word));
    return { bytesRead: read(control.bytesRead), bytesWritten: read(control.bytesWritten) };
  }

  /** Waits for tasks, which end within a tile, and releases the threads. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  async #dispose(): Promise<void> {
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.stop(new Error('the pool of worker threads is closed'));
    await this.#idle();
    // If the threads could not start, a task has reported the reason.
    await (await this.#started?.catch(() => undefined))?.release();
  }

  async #idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.allSettled(this.#tasks);
  }

  async #computed<N extends 'run' | 'measure' | 'solve'>(name: N, task: Tasks[N]): Promise<Results[N]> {
    const result = await this.#task(name, task);
    if (result === undefined || (!result.ok && result.status.outcome === 'cancelled'))
      throw this.#stopped?.reason;
    return result;
  }

  /** Runs a task; undefined if the pool is stopped before the task begins. */
  #task<N extends TaskName>(name: N, task: Tasks[N]): Promise<Results[N] | undefined> {
    return this.#tracked(this.#carryOut(name, task));
  }

  #tracked<Result>(task: Promise<Result>): Promise<Result> {
    this.#tasks.add(task);
    const forget = () => {
      this.#tasks.delete(task);
      this.#hashing.start();
    };
    task.then(forget, forget);
    return task;
  }

  async #carryOut<N extends TaskName>(name: N, task: Tasks[N]): Promise<Results[N] | undefined> {
    this.#begun += 1;
    if (this.#room > 0) this.#room -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      if (this.#main && (name === 'run' || name === 'measure')) {
        // Lets signals, timers and writes run between tasks.
        await setImmediate();
        if (this.stopped) return undefined;
        const { carryOut } = await import('./worker.js');
        const begun = performance.now();
        const result = await carryOut({ name, task, shared: this.#shared });
        if (performance.now() - begun > slowMilliseconds) this.#main = false;
        return result;
      }
      if (this.stopped) return undefined;
      this.#started ??= Threads.start(this.threads, (error) => this.stop(error));
      const threads = await this.#started;
      if (this.stopped) return undefined;
      return await threads.run({ name, task, shared: this.#shared });
    } catch (error) {
      // Tasks return their failures as results, so here a thread died or did not start.
      this.stop(error);
      throw error;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#room += 1;
      else next();
      this.#begun -= 1;
    }
  }
}
