import { statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LayerloomError } from '../errors.js';
import type { MergePlan } from '../plan/plan.js';
import { usableCores } from './cores.js';
import { execute } from './execute.js';
import { Inputs } from './inputs.js';
import { type Link, linkShards, links } from './link.js';
import { checkOutput } from './output.js';
import { WorkerPool } from './pool.js';
import { type Checksums, describeShards, type ShardRecord, writeSideFiles } from './provenance.js';
import { Schedule } from './schedule.js';
import { ShardFiles } from './shard-files.js';
import { openStaging, type Staging } from './staging.js';

export interface Progress {
  readonly phase: 'merge' | 'checksums';
  /** Output bytes for `merge`, those of earlier runs included; files for `checksums`. */
  readonly done: number;
  readonly total: number;
}

export interface RunOptions {
  /** The directory to create. */
  out: string;
  /** Worker threads; by default the cores that this process may use. */
  threads?: number | undefined;
  /** Replace a checkpoint that layerloom wrote. */
  force?: boolean | undefined;
  /** Keep what is done when interrupted, and continue what an earlier run kept. */
  resume?: boolean | undefined;
  /** How shards come about that are input files as they stand; by default they share blocks where the file system can. */
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
 * @throws LayerloomError an OUTPUT_… code, INPUT_CHANGED, INPUT_SHRANK, READ_FAILED, WRITE_FAILED, NON_FLOATING_MISMATCH,
 *   DISK_SPACE, LINK_REFUSED, RESUME_MISMATCH, INVALID_PARAMETER (threads), INTERRUPTED
 */
export const runPlan = async (plan: MergePlan, options: RunOptions): Promise<MergeResult> => {
  const started = performance.now();
  const { out, force = false, resume = false, signal = new AbortController().signal } = options;
  const threads = checkThreads(options.threads);
  const link = checkLink(options.link);
  const output = await checkOutput(plan, out, force);

  await using inputs = await Inputs.open(plan);
  const staging = await openStaging(output, plan, resume);
  try {
    const linked = await linkShards(plan, staging, link);
    const schedule = new Schedule(
      plan.shards.filter(({ file }) => !linked.has(file)),
      staging.done,
    );
    await checkSpace(output.path, schedule.bytes);
    await using pool = new WorkerPool(threads);
    await merge(schedule, { plan, staging, inputs, pool, signal, onProgress: options.onProgress });
    const checksums =
      options.checksums === true
        ? await computeChecksums({ plan, staging, pool, signal, onProgress: options.onProgress })
        : new Map();
    await writeSideFiles(plan, staging.checkpoint, checksums, linked);
    signal.throwIfAborted();
    await staging.commit();
    return {
      out: output.path,
      method: plan.method,
      recipe: plan.recipe,
      shards: describeShards(plan, staging.checkpoint, checksums, linked),
      ...pool.counters,
      bytesResumed: schedule.total - schedule.bytes,
      threads,
      seconds: (performance.now() - started) / 1000,
      warnings: [...plan.warnings, ...staging.warnings],
    };
  } catch (error) {
    await (resume ? staging.keep() : staging.discard());
    if (!signal.aborted) throw error;
    throw new LayerloomError(
      'INTERRUPTED',
      { out: output.path, ...(resume ? { kept: staging.directory } : {}) },
      { cause: error },
    );
  }
};

/** What the stages of a run share. */
interface Run {
  readonly plan: MergePlan;
  readonly staging: Staging;
  readonly pool: WorkerPool;
  readonly signal: AbortSignal;
  readonly onProgress: RunOptions['onProgress'];
}

const checkLink = (link: Link = 'reflink'): Link => {
  if (!links.includes(link))
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'link',
      value: link,
      expected: links.join(', '),
    });
  return link;
};

const checkThreads = (threads = usableCores()): number => {
  if (!Number.isInteger(threads) || threads < 1 || threads > 1024)
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'threads',
      value: threads,
      expected: 'a whole number from 1 to 1024',
    });
  return threads;
};

/** Quotas are not seen here; they are met as WRITE_FAILED. */
const checkSpace = async (out: string, needed: number): Promise<void> => {
  const { bavail, bsize } = await statfs(dirname(out));
  const available = bavail * bsize;
  if (needed > available) throw new LayerloomError('DISK_SPACE', { out, needed, available });
};

const merge = async (schedule: Schedule, run: Run & { inputs: Inputs }): Promise<void> => {
  const { staging, inputs, pool, signal, onProgress } = run;
  const { total } = schedule;
  const report = () =>
    onProgress?.({ phase: 'merge', done: total - schedule.bytes + pool.counters.bytesWritten, total });
  const timer = setInterval(report, 100);
  const shards = await ShardFiles.open(staging);
  try {
    await execute(schedule, { pool, inputs, shards, signal });
  } finally {
    clearInterval(timer);
    await shards.close();
  }
  report();
  await inputs.verify();
};

const computeChecksums = async ({ plan, staging, pool, signal, onProgress }: Run): Promise<Checksums> => {
  const paths = new Set([
    ...plan.inputs.flatMap(({ files }) => files.map(({ path }) => path)),
    ...plan.shards.map(({ file }) => join(staging.checkpoint, file)),
  ]);
  const cancel = () => pool.cancel();
  signal.addEventListener('abort', cancel);
  if (signal.aborted) cancel();
  const checksums = new Map<string, string>();
  try {
    await Promise.all(
      [...paths].map(async (path) => {
        const sha256 = await pool.checksum(path);
        if (sha256 !== undefined) checksums.set(path, sha256);
        onProgress?.({ phase: 'checksums', done: checksums.size, total: paths.size });
      }),
    );
  } finally {
    signal.removeEventListener('abort', cancel);
  }
  signal.throwIfAborted();
  return checksums;
};
