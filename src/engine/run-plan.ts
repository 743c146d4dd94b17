import { statfs } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type ErrorCode, LayerloomError } from '../errors.js';
import { instructionSets } from '../native/addon.js';
import { checkPlan } from '../plan/check-plan.js';
import { keptOf } from '../plan/kept.js';
import { type MergePlan, type StoredTensor, sourcesOf } from '../plan/plan.js';
import { execute } from './compute/execute.js';
import { Schedule } from './compute/schedule.js';
import { InputFiles } from './input-files.js';
import { computeChecksums } from './output/checksums.js';
import { type Link, linkShards, links, verifyLinks } from './output/link.js';
import { checkOutput, type Output } from './output/output.js';
import { describeShards, type ShardRecord, writeSideFiles } from './output/provenance.js';
import { ShardFiles } from './output/shard-files.js';
import { openStaging, type Staging } from './output/staging.js';
import { usableCores } from './threads/cores.js';
import { WorkerPool } from './threads/pool.js';

export interface Progress {
  readonly phase: 'merge' | 'checksums' | 'analysis';
  /** Output bytes for `merge`, those of earlier runs included; files for `checksums`; input bytes for `analysis`. */
  readonly done: number;
  readonly total: number;
  /** Of a batch: merges whose directories are there, of all. */
  readonly merges?: { readonly done: number; readonly total: number };
  /** Of a batch: input bytes so far. */
  readonly bytesRead?: number;
}

export interface RunOptions {
  /** The directory to create. */
  out: string;
  /** Worker threads; by default the cores that this process may use. */
  threads?: number | undefined;
  /** Output bytes of a thread's task, a multiple of 8; by default 8 MiB. No result depends on it. */
  sliceBytes?: number | undefined;
  /** Replace a checkpoint that layerloom wrote. */
  force?: boolean | undefined;
  /** Keep what is done when interrupted, and continue what an earlier run kept. */
  resume?: boolean | undefined;
  /** How shards come about that are input files as they stand; by default they share blocks where the file system can, else are copied. */
  link?: Link | undefined;
  /** Record the SHA-256 of inputs and shards. */
  checksums?: boolean | undefined;
  /** Aborting stops within a tile; then the run throws INTERRUPTED. */
  signal?: AbortSignal | undefined;
  /** Called about ten times a second, and once at the end. */
  onProgress?: ((progress: Progress) => void) | undefined;
}

export interface MergeResult {
  /** Absolute. */
  readonly out: string;
  readonly method: string;
  readonly recipe: Readonly<Record<string, unknown>>;
  readonly shards: readonly ShardRecord[];
  /** Of a revert: what stayed the expert's. */
  readonly kept?: ReturnType<typeof keptOf>;
  /** Of inputs, headers aside, and of shards, by this run. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  /** Of shards, by an interrupted run that this one continued. */
  readonly bytesResumed: number;
  readonly threads: number;
  readonly seconds: number;
  readonly warnings: readonly string[];
}

/**
 * Carries out a plan. The output appears whole or not at all: it grows in a staging directory beside it, is synced and then
 * renamed into place.
 *
 * @throws LayerloomError PLAN_INVALID, an OUTPUT_… code, INPUT_CHANGED, INPUT_SHRANK, READ_FAILED, WRITE_FAILED, NON_FLOATING_MISMATCH,
 *   DISK_SPACE, LINK_REFUSED, RESUME_MISMATCH, MERGE_UNDEFINED, INVALID_PARAMETER, INSTRUCTION_SET, INTERRUPTED
 */
export const runPlan = async (given: MergePlan, options: RunOptions): Promise<MergeResult> => {
  const started = performance.now();
  const { out, force = false, resume = false, signal = new AbortController().signal } = options;
  const threads = checkThreads(options.threads);
  const sliceBytes = checkSliceBytes(options.sliceBytes);
  const link = checkLink(options.link);
  const plan = checkPlan(given);
  instructionSets();
  const output = await checkOutput(plan, out, force);

  await using inputs = await InputFiles.open(plan.inputs, sourcesOfPlan(plan));
  const staging = await openStaging(output, { ...plan, inputs: inputs.observed }, resume);
  try {
    const { linked, warnings: unlinked } = await linkShards(plan, staging, inputs, link);
    const written = plan.shards.filter(({ file }) => !linked.has(file));
    const schedule = new Schedule(written, staging.done, sliceBytes);
    await checkSpace(output.path, schedule.bytes);

    await using pool = new WorkerPool(threads, signal);
    const report = reporter(options.onProgress, pool);
    await merge(schedule, staging, inputs, pool, report);
    await verifyLinks(plan, linked, inputs);
    const checksums = options.checksums
      ? await computeChecksums(plan, staging.checkpoint, inputs, pool, (done, total) =>
          report({ phase: 'checksums', done, total }),
        )
      : new Map<string, string>();
    await inputs.verify();
    await verifyLinks(plan, linked, inputs);
    await writeSideFiles(plan, staging.checkpoint, checksums, linked);
    pool.throwIfStopped();
    const warnings = await staging.commit();
    return {
      out: output.path,
      method: plan.method,
      recipe: plan.recipe,
      ...(plan.method === 'revert' ? { kept: keptOf(plan) } : {}),
      shards: describeShards(plan, staging.checkpoint, checksums, linked),
      ...pool.counters,
      bytesResumed: schedule.total - schedule.bytes,
      threads,
      seconds: (performance.now() - started) / 1000,
      warnings: [...plan.warnings, ...staging.warnings, ...unlinked, ...warnings],
    };
  } catch (error) {
    throw await giveUp(signal.aborted ? interrupted(output, error) : error, staging, resume);
  }
};

const sourcesOfPlan = ({ shards }: MergePlan): StoredTensor[] =>
  shards.flatMap(({ tensors }) => tensors.flatMap(({ expression }) => sourcesOf(expression)));

const interrupted = ({ path: out }: Output, cause: unknown): LayerloomError =>
  new LayerloomError('INTERRUPTED', { out }, { cause });

/** What may be continued when its cause is gone: an interruption, and a disk that was full or failed. */
const resumable: readonly ErrorCode[] = ['INTERRUPTED', 'DISK_SPACE', 'WRITE_FAILED'];

/** Leaves the staging where that was asked and is of use, and says so in the error; else removes it. */
const giveUp = async (error: unknown, staging: Staging, resume: boolean): Promise<unknown> => {
  if (!(resume && error instanceof LayerloomError && resumable.includes(error.code))) {
    await staging.discard();
    return error;
  }
  await staging.keep();
  return error.keptIn(staging.directory);
};

const checkLink = (link: Link | undefined): Link | undefined => {
  if (link !== undefined && !links.includes(link))
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'link',
      value: link,
      expected: links.join(', '),
    });
  return link;
};

/** @throws LayerloomError INVALID_PARAMETER */
export const checkThreads = (threads = usableCores()): number => {
  if (!Number.isInteger(threads) || threads < 1 || threads > 1024)
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'threads',
      value: threads,
      expected: 'a whole number from 1 to 1024',
    });
  return threads;
};

const checkSliceBytes = (bytes: number | undefined): number | undefined => {
  if (bytes !== undefined && (!Number.isSafeInteger(bytes) || bytes < 4096 || bytes % 8 !== 0))
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'sliceBytes',
      value: bytes,
      expected: 'a multiple of 8, 4096 at least',
    });
  return bytes;
};

/** Quotas are not seen here; they are met as WRITE_FAILED. */
const checkSpace = async (out: string, needed: number): Promise<void> => {
  const { bavail, bsize } = await statfs(dirname(out));
  const available = bavail * bsize;
  if (needed > available) throw new LayerloomError('DISK_SPACE', { out, needed, available });
};

type Report = (progress: Progress) => void;

/** A caller's function that throws stops the run, and what it threw is the run's error. */
export const reporter = (onProgress: RunOptions['onProgress'], pool: WorkerPool): Report => {
  return (progress) => {
    try {
      onProgress?.(progress);
    } catch (error) {
      pool.stop(error);
    }
  };
};

const merge = async (
  schedule: Schedule,
  staging: Staging,
  inputs: InputFiles,
  pool: WorkerPool,
  report: Report,
): Promise<void> => {
  const { total, bytes } = schedule;
  const shards = await ShardFiles.open(staging, inputs);
  const tick = () => report({ phase: 'merge', done: total - bytes + pool.counters.bytesWritten, total });
  const timer = setInterval(tick, 100);
  try {
    await execute(schedule, pool, inputs, shards);
    tick();
  } catch (error) {
    // The journal takes what still can be recorded; what fails in that is not why the run failed.
    await shards.close().catch(() => undefined);
    throw error;
  } finally {
    clearInterval(timer);
  }
  await shards.close();
};
