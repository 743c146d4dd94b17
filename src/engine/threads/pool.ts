import { Piscina } from 'piscina';
import { control } from '../../native/job.js';
import type { Measurement } from '../../native/measure.js';
import type { ChecksumResult, ChecksumTask, MeasureResult, MeasureTask, RunResult, RunTask } from './task.js';

/** Compiled, also where this file is run from its source: a worker thread cannot load TypeScript on Node 20. */
const workerFile = new URL('../../../dist/engine/threads/worker-entry.cjs', import.meta.url).href;

/** Counters that worker threads add to while they run. */
export interface Counters {
  readonly bytesRead: number;
  readonly bytesWritten: number;
}

/** Tasks of a thread: one runs, and one waits at it, which so need not wait for the main thread between two. */
const tasksOfThread = 2;

type AnyTask = RunTask | MeasureTask | ChecksumTask;
type AnyResult = RunResult | MeasureResult | ChecksumResult;

/**
 * Worker threads that run native jobs, and the memory they share: one flag that stops them all, and what they have done. The first reason to
 * stop, be it a failure or the caller's signal, is the one that is reported.
 *
 * A thread that is ended inside the addon takes the process with it. So the pool knows its tasks, and ends threads only when none is under way:
 * callers may leave a task's promise unawaited, as `Promise.all` does once one of several has failed.
 */
export class WorkerPool {
  readonly threads: number;
  readonly #shared = new SharedArrayBuffer(control.words * BigInt64Array.BYTES_PER_ELEMENT);
  readonly #control = new BigInt64Array(this.#shared);
  readonly #signal: AbortSignal;
  readonly #onAbort = (): void => this.stop(this.#signal.reason);
  /** Started by the first task: a run that is stopped before it, or has nothing to do, needs no threads. */
  #piscina: Piscina<AnyTask, AnyResult> | undefined;
  /** Every task that was asked for and has not ended. */
  readonly #tasks = new Set<Promise<unknown>>();
  /** Tasks that threads have room for, and those that wait for it: here and not in piscina's queue, so that they are dropped when the pool stops. */
  #room: number;
  readonly #waiting: (() => void)[] = [];
  #stopped: { readonly reason: unknown } | undefined;
  #disposal: Promise<void> | undefined;

  constructor(threads: number, signal: AbortSignal) {
    this.threads = threads;
    this.#room = threads * tasksOfThread;
    this.#signal = signal;
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
   * when no task is under way.
   */
  async inLanes(work: () => Promise<void>): Promise<void> {
    const lane = () => work().catch((error: unknown) => this.stop(error));
    if (!this.stopped) await Promise.all(Array.from({ length: this.threads * tasksOfThread }, lane));
    await this.#idle();
    this.throwIfStopped();
  }

  /** Throws the reason to stop, where there is one. */
  throwIfStopped(): void {
    if (this.#stopped !== undefined) throw this.#stopped.reason;
  }

  // A pool that is stopped does not begin these, and throws the reason to stop; so it does of a job that the flag has stopped. A job that ended
  // otherwise meanwhile has its result.

  async run(jobs: RunTask['jobs']): Promise<RunResult> {
    const task: RunTask = { jobs, shared: this.#shared };
    return this.#unlessCancelled(await this.#task<RunResult>('run', task));
  }

  async measure(measurement: Measurement): Promise<MeasureResult> {
    const task: MeasureTask = { measurement, shared: this.#shared };
    return this.#unlessCancelled(await this.#task<MeasureResult>('measure', task));
  }

  /** Of a pool that is stopped, an answer without a hash: what is written is of use without it. */
  async checksum(fd: number): Promise<ChecksumResult> {
    const result = await this.#task<ChecksumResult>('checksum', { fd, shared: this.#shared });
    return result ?? { ok: true, sha256: undefined };
  }

  get counters(): Counters {
    const read = (word: number) => Number(Atomics.load(this.#control, word));
    return { bytesRead: read(control.bytesRead), bytesWritten: read(control.bytesWritten) };
  }

  /** Stops what is under way, waits until it has ended, within a tile, and only then ends the threads. */
  [Symbol.asyncDispose](): Promise<void> {
    this.#disposal ??= this.#dispose();
    return this.#disposal;
  }

  async #dispose(): Promise<void> {
    this.#signal.removeEventListener('abort', this.#onAbort);
    this.stop(new Error('the pool of worker threads is closed'));
    await this.#idle();
    await this.#piscina?.destroy();
  }

  async #idle(): Promise<void> {
    while (this.#tasks.size > 0) await Promise.allSettled(this.#tasks);
  }

  #unlessCancelled<Result extends Exclude<AnyResult, ChecksumResult>>(result: Result | undefined): Result {
    if (result === undefined || (!result.ok && result.status.outcome === 'cancelled'))
      throw this.#stopped?.reason;
    return result;
  }

  /** Undefined where the pool is stopped before a thread has room for the task. */
  #task<Result extends AnyResult>(name: string, task: AnyTask): Promise<Result | undefined> {
    const result = this.#carryOut<Result>(name, task);
    this.#tasks.add(result);
    const forget = () => this.#tasks.delete(result);
    result.then(forget, forget);
    return result;
  }

  async #carryOut<Result extends AnyResult>(name: string, task: AnyTask): Promise<Result | undefined> {
    if (this.#room > 0) this.#room -= 1;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      if (this.stopped) return undefined;
      this.#piscina ??= this.#startThreads();
      // The signal that piscina takes would end the thread in the middle of a write; `stop` lets it end its tile.
      return (await this.#piscina.run(task, { name })) as Result;
    } catch (error) {
      // Tasks answer with what went wrong in them: a thread has died, or could not be started.
      this.stop(error);
      throw error;
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#room += 1;
      else next();
    }
  }

  #startThreads(): Piscina<AnyTask, AnyResult> {
    const piscina = new Piscina<AnyTask, AnyResult>({
      filename: workerFile,
      // Nothing of the caller's: flags such as --input-type are meant for its own script.
      execArgv: [],
      minThreads: this.threads,
      maxThreads: this.threads,
      concurrentTasksPerWorker: tasksOfThread,
      // Workers hold no tensors: a small heap is enough, and keeps the process small with many threads.
      resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 },
    });
    piscina.on('error', (error: unknown) => this.stop(error));
    return piscina;
  }
}
