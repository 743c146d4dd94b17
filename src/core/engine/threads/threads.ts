import type { Piscina } from 'piscina';
import { codeOf, LayerloomError, reasonOf, withCode } from '../../base/errors.js';

/**
 * The bundled worker, also where this file runs from its source: Node 20 cannot load TypeScript in a worker
 * thread.
 */
const workerFile = new URL('../../../../dist/core/engine/threads/worker-entry.cjs', import.meta.url).href;

/**
 * Tasks per thread: one running and one queued at it, so that it need not wait for the main thread between
 * two.
 */
export const tasksOfThread = 2;

/** How long threads wait for a next run: a program's merges follow each other sooner. */
const keptMs = 2000;

/** Threads that no run has, and the timer that ends them. */
let kept: { readonly threads: Threads; readonly timer: NodeJS.Timeout } | undefined;

/**
 * Worker threads, which one run has at a time. They are kept a while for the next run of the same number of threads, because
 * a thread takes longer to start than a small merge does. They do not keep the process alive.
 */
export class Threads {
  readonly #count: number;
  readonly #piscina: Piscina;
  /** What a thread died of goes to the run that has the threads. */
  #onError: (error: unknown) => void;
  #failed = false;

  private constructor(count: number, piscina: Piscina, onError: (error: unknown) => void) {
    this.#count = count;
    this.#piscina = piscina;
    this.#onError = onError;
    piscina.on('error', (error: unknown) => {
      this.#failed = true;
      this.#onError(error);
    });
  }

  /**
   * Returns the threads that were kept, or starts others. Never are more kept than one run's.
   *
   * @throws LayerloomError THREADS_UNAVAILABLE
   */
  static async start(count: number, onError: (error: unknown) => void): Promise<Threads> {
    // Loaded on demand: a plan needs no threads.
    const { Piscina } = await import('piscina').catch((cause: unknown) => {
      // While the run's files are open, which may be why.
      throw withCode(cause);
    });
    const threads = takeKept();
    if (threads !== undefined && threads.#count === count && !threads.#failed) {
      threads.#onError = onError;
      return threads;
    }
    await threads?.end();
    try {
      const piscina = new Piscina({
        filename: workerFile,
        // By which each thread loads the file at its start. Without a name that it exports, piscina would load it once more,
        // as an ES module.
        name: 'run',
        // Not the caller's flags: some, such as --input-type, are meant for its own script.
        execArgv: [],
        minThreads: count,
        maxThreads: count,
        concurrentTasksPerWorker: tasksOfThread,
        // Workers hold no tensors in V8: a small heap is enough, and keeps the process small with many threads.
        resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 },
      });
      return new Threads(count, piscina, onError);
    } catch (cause) {
      // Of Node's permissions, which its own message names.
      if (codeOf(cause) === 'ERR_ACCESS_DENIED') throw cause;
      throw new LayerloomError('THREADS_UNAVAILABLE', { reason: reasonOf(cause) }, { cause });
    }
  }

  /**
   * Runs a task, which returns its own failures: what this throws is a thread's. Piscina's own `signal` would terminate the
   * thread in the middle of a write.
   */
  async run(task: unknown, name: string): Promise<unknown> {
    try {
      return await this.#piscina.run(task, { name });
    } catch (error) {
      this.#failed = true;
      throw error;
    }
  }

  /**
   * Keeps the threads for a next run, or terminates them where others are kept already, or one has failed. No task may be
   * running.
   */
  async release(): Promise<void> {
    if (this.#failed || kept !== undefined) {
      await this.end();
      return;
    }
    this.#onError = () => undefined;
    const timer = setTimeout(() => void takeKept()?.end(), keptMs).unref();
    kept = { threads: this, timer };
  }

  /** Terminates the threads. No task may be running. */
  async end(): Promise<void> {
    await this.#piscina.destroy();
  }
}

const takeKept = (): Threads | undefined => {
  if (kept === undefined) return undefined;
  const { threads, timer } = kept;
  clearTimeout(timer);
  kept = undefined;
  return threads;
};
