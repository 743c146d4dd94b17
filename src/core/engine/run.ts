import { type ErrorCode, type ErrorDetails, LayerloomError } from '../base/errors/errors.js';
import { invalidParameter } from '../base/errors/invalid-parameter.js';
import { withCode } from '../base/files/writing.js';
import type { Download } from '../models/sources/source.js';
import { instructionSets } from '../native/addon.js';
import type { PlannedInput } from '../plan/plan.js';
import { memoryOf } from '../plan/reports/memory.js';
import { missingWeights } from '../plan/reports/missing-weights.js';
import { bytesOfSources, type StoredTensor } from '../tensor/stored-tensor.js';
import { bringWeights } from './bring-weights.js';
import { InputFiles } from './input-files.js';
import { usableCores } from './threads/cores.js';
import { fitThreads } from './threads/fit-threads.js';
import { WorkerPool } from './threads/pool.js';

/** Progress of a run. */
export interface Progress {
  readonly phase:
    | ('download' | 'upload' | 'merge' | 'checksums' | 'analysis' | 'comparison' | 'extraction')
    | ('recomputation' | 'conversion' | 'quantisation');
  /**
   * Amount done so far, in the phase's unit. `download`, `upload`: bytes transferred. `merge`, `recomputation`,
   * `conversion`: bytes of output; a merge includes bytes of earlier runs. `analysis`, `comparison`: bytes of input.
   * `checksums`: files. `quantisation`: tensors. `extraction`: bytes of float32 changes.
   */
  readonly done: number;
  readonly total: number;
  /** Numbers of finished merges and of all merges in a batch. */
  readonly merges?: { readonly done: number; readonly total: number };
  /** Input bytes read so far in a batch. */
  readonly bytesRead?: number;
}

/** Options of runs that read weights. */
export interface RunControls {
  /** Fetch missing parts of hub models: headers and used byte ranges. Default false: no network. */
  download?: Download | undefined;
  /** Worker threads; default: the usable cores, or for small merges only the main thread. */
  threads?: number | undefined;
  /** Stops the run within a tile, with INTERRUPTED. */
  signal?: AbortSignal | undefined;
  /** Called about ten times a second, and at the end. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

/** Bytes read and written by a run. */
export interface RunCost {
  /** Bytes of inputs, without headers. `bytesWritten` counts shards. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly threads: number;
  readonly seconds: number;
}

export class Run {
  readonly pool: WorkerPool;
  readonly warnings: string[] = [];
  readonly signal: AbortSignal;
  readonly #inputs: InputFiles[] = [];
  readonly #download: Download;
  readonly #onProgress: RunControls['onProgress'];
  readonly #started = performance.now();

  /**
   * @param computes false for a run that only hashes and does not load the addon
   *
   * @throws INVALID_PARAMETER, ADDON_MISSING, INSTRUCTION_SET
   */
  constructor(
    // Node warns of more than ten listeners to a signal.
    { threads, signal = new AbortController().signal, onProgress, download = false }: RunControls,
    computes = true,
  ) {
    const checked = checkThreads(threads);
    if (computes) instructionSets();
    this.signal = signal;
    this.#download = download;
    this.#onProgress = onProgress;
    this.pool = new WorkerPool(checked, signal);
  }

  /**
   * Uses fewer threads, with a warning, if memory is short. Call it before the first task.
   *
   * @throws MEMORY_NEEDED
   */
  fitMemory(tensors: Parameters<typeof memoryOf>[0]): void {
    const { threads, warning } = fitThreads(memoryOf(tensors), this.pool.threads);
    this.pool.useThreads(threads);
    if (warning !== undefined) this.warnings.push(warning);
  }

  /**
   * Opens files and fetches missing byte ranges. Files are closed after the threads end.
   *
   * @throws as `InputFiles.open` and `bringWeights`
   */
  async open(...files: Parameters<typeof InputFiles.open>): Promise<InputFiles> {
    const [planned, sources, linked] = files;
    await bringWeights(await missingWeights(planned, sources, linked), this.#download, {
      signal: this.signal,
      onProgress: ({ done, total }) => this.report({ phase: 'download', done, total }),
    });
    const inputs = await InputFiles.open(...files);
    this.#inputs.push(inputs);
    // Checks again: another run may have restarted a download because the model changed on the hub.
    const [lost] = (await missingWeights(planned, sources, linked)).needs;
    if (lost !== undefined)
      throw new LayerloomError('INPUT_CHANGED', {
        file: lost.path,
        reason: 'was removed from the cache of ranges by another run',
      });
    return inputs;
  }

  /** Calls the caller's function; an error in it ends the run. */
  report(progress: Progress): void {
    try {
      this.#onProgress?.(progress);
    } catch (error) {
      this.pool.stop(error);
    }
  }

  /** Reports progress about ten times a second while `work` runs, and at its end. */
  async reporting<T>(progress: () => Progress, work: () => Promise<T>): Promise<T> {
    const timer = setInterval(() => this.report(progress()), 100);
    let result: T;
    try {
      result = await work();
    } finally {
      clearInterval(timer);
      this.report(progress());
    }
    this.pool.throwIfStopped();
    return result;
  }

  get cost(): RunCost {
    const seconds = (performance.now() - this.#started) / 1000;
    return { ...this.pool.counters, threads: this.pool.threads, seconds };
  }

  /** Returns INTERRUPTED if the signal is aborted, otherwise `error` with a code. */
  reasonOf(error: unknown, details: ErrorDetails<'INTERRUPTED'>): unknown {
    return this.signal.aborted
      ? new LayerloomError('INTERRUPTED', details, { cause: error })
      : withCode(error);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.pool[Symbol.asyncDispose]();
    for (const inputs of this.#inputs) await inputs[Symbol.asyncDispose]();
  }
}

/**
 * Runs `work`, which only reads, and then verifies the inputs. Progress counts bytes read.
 *
 * @param isGlance for a few MB: reads on the main thread, and checks files by size and mtime alone
 *
 * @throws INPUT_CHANGED, INPUT_SHRANK, READ_FAILED, INVALID_PARAMETER, INTERRUPTED
 */
export const overInputs = async <T>(
  controls: RunControls,
  phase: 'analysis' | 'comparison',
  planned: readonly PlannedInput[],
  sources: readonly StoredTensor[],
  work: (pool: WorkerPool, inputs: InputFiles) => Promise<T>,
  isGlance = false,
): Promise<{ readonly result: T; readonly cost: RunCost }> => {
  await using run = new Run(controls);
  const { pool } = run;
  if (isGlance) pool.useMainThread();
  const inputs = await run.open(planned, sources, undefined, isGlance);
  const total = bytesOfSources(sources);
  const progress = (): Progress => ({ phase, done: Math.min(total, pool.counters.bytesRead), total });
  try {
    const result = await run.reporting(progress, async () => {
      const result = await work(pool, inputs);
      await inputs.verify();
      return result;
    });
    return { result, cost: run.cost };
  } catch (error) {
    throw run.reasonOf(error, {});
  }
};

export const resumable: readonly ErrorCode[] = ['INTERRUPTED', 'DISK_SPACE', 'WRITE_FAILED'];

/** @throws INVALID_PARAMETER */
export const checkThreads = (threads = usableCores()): number => {
  if (!Number.isInteger(threads) || threads < 1 || threads > 1024)
    throw invalidParameter('threads', threads, 'a whole number from 1 to 1024');
  return threads;
};
