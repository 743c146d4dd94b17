import { pathToFileURL } from 'node:url';
import type { Piscina } from 'piscina';
import { codeOf, LayerloomError, reasonOf } from '../../base/errors/errors.js';
import { shipped } from '../../base/files/shipped.js';
import { withCode } from '../../base/files/writing.js';
import type { Message, Results, TaskName } from './task.js';

/**
 * The bundled worker, even when this file runs from source: Node 20 cannot load TypeScript in worker threads.
 */
const workerFile = pathToFileURL(shipped('dist/core/engine/threads/worker-entry.cjs')).href;

/** A running and a queued task: no thread waits for the main thread. */
export const tasksOfThread = 2;

const keptMs = 2000;

/** Idle threads, kept for the next run until the timer ends them. */
let kept: { readonly threads: Threads; readonly timer: NodeJS.Timeout } | undefined;

/**
 * Threads that serve one run at a time. After a run they stay briefly for another run with as many threads, because
 * starting threads takes longer than a small merge. They do not keep the process alive.
 */
export class Threads {
  readonly #count: number;
  readonly #piscina: Piscina;
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
   * Takes the kept threads, or starts new threads.
   *
   * @throws THREADS_UNAVAILABLE
   */
  static async start(count: number, onError: (error: unknown) => void): Promise<Threads> {
    const { Piscina } = await import('piscina').catch((cause: unknown) => {
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
        // Makes threads load the file when they start. Without an export's name, piscina would load it again
        // as an ES module.
        name: 'run',
        // Drops Node's own flags, because some, such as --input-type, suit only the main script.
        execArgv: [],
        minThreads: count,
        maxThreads: count,
        concurrentTasksPerWorker: tasksOfThread,
        // Limits memory, because workers hold no tensors in V8.
        resourceLimits: { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 4 },
      });
      return new Threads(count, piscina, onError);
    } catch (cause) {
      // Keeps Node's error, which names the missing permission.
      if (codeOf(cause) === 'ERR_ACCESS_DENIED') throw cause;
      throw new LayerloomError('THREADS_UNAVAILABLE', { reason: reasonOf(cause) }, { cause });
    }
  }

  /**
   * Runs a task. Does not use piscina's `signal`, which would terminate a thread in the middle of a write.
   */
  async run<N extends TaskName>(message: Message<N>): Promise<Results[N]> {
    try {
      return (await this.#piscina.run(message)) as Results[N];
    } catch (error) {
      this.#failed = true;
      throw error;
    }
  }

  /** Keeps threads for a later run; ends them after a failure, or if others are kept. No task may run. */
  async release(): Promise<void> {
    if (this.#failed || kept !== undefined) {
      await this.end();
      return;
    }
    this.#onError = () => undefined;
    const timer = setTimeout(() => void takeKept()?.end(), keptMs).unref();
    kept = { threads: this, timer };
  }

  /** Ends the threads; no task may be running. */
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
