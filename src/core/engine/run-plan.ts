import { dirname, join } from 'node:path';
import { LayerloomError } from '../base/errors/errors.js';
import { invalidParameter } from '../base/errors/invalid-parameter.js';
import type { MethodReport } from '../methods/framework/declaration/method.js';
import { checkSpace } from '../models/checkpoint/files/disk-space.js';
import { checkPlan } from '../plan/check/check-plan.js';
import { sourcesOfTensors } from '../plan/operands.js';
import type { MergePlan, PlannedShard } from '../plan/plan.js';
import { reportOf } from '../plan/reports/method-report.js';
import { verbatimFiles } from '../plan/reports/missing-weights.js';
import type { WeightDigests } from '../statements/merge-statement.js';
import type { StoredTensor } from '../tensor/stored-tensor.js';
import { isDone, makeShards } from './compute/make-shards.js';
import { bytesOf, groupOfOne, tasksOf } from './compute/tasks.js';
import type { InputFiles } from './input-files.js';
import { type Checksums, computeChecksums } from './output/checksums.js';
import { orNoDirectories } from './output/durable.js';
import { JournalledShards } from './output/journalled-shards.js';
import { checkLink, type Link, linkShards, verifyLinks } from './output/link.js';
import { checkOutput, type Output } from './output/output.js';
import { describeKeptChanges, type QuantisedOutput } from './output/record/kept-changes.js';
import { describeShards, type ShardRecord, writeSideFiles } from './output/record/provenance.js';
import { describeTruncated, type TruncatedProduct } from './output/record/truncated.js';
import { openStaging, type Staging } from './output/staging.js';
import { digestWeights } from './output/weight-digests.js';
import { type Progress, Run, type RunControls, type RunCost, resumable } from './run.js';
import { mainThreadSlice, suitsMainThread } from './threads/main-thread.js';

export interface RunOptions extends RunControls {
  /** Directory to create. */
  out: string;
  /** Bytes of output per task: a multiple of 8, at least 4096; default 8 MiB. Does not change results. */
  sliceBytes?: number | undefined;
  /** Replace a checkpoint by layerloom. Default false: throws OUTPUT_EXISTS. */
  force?: boolean | undefined;
  /** Keep finished work when interrupted, and continue an earlier run's; default false. */
  resume?: boolean | undefined;
  /** How to make shards that equal input files; default: reflink if possible, else copy. */
  link?: Link | undefined;
  /** Record SHA-256 of inputs and shards; default false. */
  checksums?: boolean | undefined;
  /** Write an in-toto statement of the merge; needs `checksums`. Default false. */
  attest?: boolean | undefined;
}

export interface MergeResult extends RunCost, MethodReport {
  readonly out: string;
  readonly method: string;
  readonly recipe: Readonly<Record<string, unknown>>;
  /** Truncated products, if the output is an adapter of given rank. */
  readonly truncated?: readonly TruncatedProduct[];
  /** How much of the change from the recipe's base remains, if the output is quantised. */
  readonly quantised?: QuantisedOutput;
  readonly shards: readonly ShardRecord[];
  /** Bytes kept from an interrupted run. */
  readonly bytesResumed: number;
  readonly warnings: readonly string[];
}

/**
 * Runs a plan. The output appears whole or not at all: a staging directory is renamed into place.
 *
 * @throws PLAN_INVALID, an OUTPUT_… code, INPUT_CHANGED, INPUT_SHRANK, READ_FAILED,
 *   WRITE_FAILED, NON_FLOATING_MISMATCH, NON_FINITE, DISK_SPACE, MEMORY_NEEDED, LINK_REFUSED,
 *   RESUME_MISMATCH, MERGE_UNDEFINED, INVALID_PARAMETER, INSTRUCTION_SET, INTERRUPTED
 */
export const runPlan = (given: MergePlan, options: RunOptions): Promise<MergeResult> =>
  orNoDirectories(() => carriedOut(given, options));

const carriedOut = async (given: MergePlan, options: RunOptions): Promise<MergeResult> => {
  await using run = new Run(options);
  const { out, force = false, resume = false } = options;
  const link = options.link === undefined ? undefined : checkLink(options.link);
  const plan = checkPlan(given);
  const onMainThread = options.threads === undefined && suitsMainThread(plan);
  const sliceBytes = checkSliceBytes(options.sliceBytes ?? (onMainThread ? mainThreadSlice : undefined));
  if (onMainThread) run.pool.useMainThread();
  else run.fitMemory(plan.shards.flatMap(({ tensors }) => tensors));
  const output = await checkOutput(plan, out, force);

  const inputs = await run.open(plan.inputs, sourcesOfPlan(plan), verbatimFiles(plan));
  const staging = await openStaging(output, { ...plan, inputs: inputs.observed }, resume);
  try {
    const { linked, warnings: unlinked } = await linkShards(plan, staging, inputs, link);
    const written = plan.shards.filter(({ file }) => !linked.has(file));
    const {
      resumed: bytesResumed,
      factors,
      changes,
    } = await merge(run, plan, written, staging, inputs, output, sliceBytes);
    await verifyLinks(plan, linked, inputs);
    const { digests, checksums } = await hashed(plan, staging, inputs, run, options);
    await inputs.verify();
    await verifyLinks(plan, linked, inputs);
    const truncated = describeTruncated(plan, factors);
    const quantised = describeKeptChanges(plan, changes);
    await writeSideFiles(plan, staging.checkpoint, checksums, linked, {
      ...{ truncated, quantised, digests },
    });
    run.pool.throwIfStopped();
    const warnings = await staging.commit();
    const { threads, seconds, ...bytes } = run.cost;
    return {
      out: output.path,
      method: plan.method,
      recipe: plan.recipe,
      ...reportOf(plan),
      ...(truncated.length === 0 ? {} : { truncated }),
      ...(quantised === undefined ? {} : { quantised }),
      shards: describeShards(plan, staging.checkpoint, checksums, linked),
      ...bytes,
      bytesResumed,
      threads,
      seconds,
      warnings: [...plan.warnings, ...run.warnings, ...staging.warnings, ...unlinked, ...warnings],
    };
  } catch (error) {
    const reason = run.reasonOf(error, { state: `nothing was written at ${output.path}`, out: output.path });
    const hasBegun = staging.done.size > 0 || run.pool.counters.bytesWritten > 0;
    throw await giveUp(reason, staging, resume && (hasBegun || options.signal?.aborted === true));
  }
};

const hashed = async (
  plan: MergePlan,
  { checkpoint }: Staging,
  inputs: InputFiles,
  run: Run,
  { attest = false, checksums = false }: RunOptions,
): Promise<{ readonly digests?: WeightDigests; readonly checksums: Checksums }> => {
  if (!attest && !checksums) return { checksums: new Map() };
  const counts = { inputs: [0, 0], shards: [0, 0] } as Record<'inputs' | 'shards', [number, number]>;
  const counting = (what: keyof typeof counts) => (done: number, total: number) => {
    counts[what] = [done, total];
    const { inputs: of, shards } = counts;
    run.report({ phase: 'checksums', done: of[0] + shards[0], total: of[1] + shards[1] });
  };
  const names = plan.shards.map(({ file }) => file);
  const [digests, found] = await Promise.all([
    attest ? digestWeights(checkpoint, names, run.pool, counting('shards')) : undefined,
    computeChecksums(plan, checkpoint, inputs, run.pool, counting('inputs'), !attest),
  ]);
  if (digests === undefined) return { checksums: found };
  const shards = [...digests.files].map(([file, sha256]) => [join(checkpoint, file), sha256] as const);
  return { digests, checksums: new Map([...found, ...shards]) };
};

const sourcesOfPlan = ({ shards }: MergePlan): StoredTensor[] =>
  shards.flatMap(({ tensors }) => sourcesOfTensors(tensors));

/**
 * Computes the shards.
 *
 * @returns bytes kept from an earlier run, results of factorising matrices, and how much of a change
 *   quantised matrices keep
 */
const merge = async (
  run: Run,
  { allowNonFinite }: MergePlan,
  shards: readonly PlannedShard[],
  staging: Staging,
  inputs: InputFiles,
  output: Output,
  sliceBytes: number | undefined,
): Promise<{ resumed: number } & Pick<JournalledShards, 'factors' | 'changes'>> => {
  const sink = await JournalledShards.open(staging, inputs, allowNonFinite ?? false);
  // Largest first, so that a large shard is not left to few threads at the end.
  const groups = shards.toSorted((a, b) => b.bytes - a.bytes).map(groupOfOne);
  let [total, resumed] = [0, 0];
  for (const task of groups.flatMap(({ slabs }) => [...tasksOf(slabs, sliceBytes)])) {
    total += bytesOf(task);
    if (isDone(task, sink)) resumed += bytesOf(task);
  }
  try {
    await checkSpace(dirname(output.path), output.path, total - resumed);
    const progress = (): Progress => ({
      phase: 'merge',
      // Corrections count bytes twice, so done may exceed the total.
      done: Math.min(total, resumed + run.pool.counters.bytesWritten),
      total,
    });
    await run.reporting(progress, () => makeShards(groups, run.pool, inputs, sink, sliceBytes));
  } catch (error) {
    // Journals as much as possible, then reports the run's first error.
    await sink.close().catch(() => undefined);
    throw error;
  }
  await sink.close();
  return { resumed, factors: sink.factors, changes: sink.changes };
};

/** Removes the staging directory, unless `--resume` can continue after this error. */
const giveUp = async (error: unknown, staging: Staging, resume: boolean): Promise<unknown> => {
  if (!(resume && error instanceof LayerloomError && resumable.includes(error.code))) {
    await staging.discard();
    return error;
  }
  await staging.keep();
  return error.with({ keptIn: staging.directory });
};

const checkSliceBytes = (bytes: number | undefined): number | undefined => {
  if (bytes !== undefined && (!Number.isSafeInteger(bytes) || bytes < 4096 || bytes % 8 !== 0))
    throw invalidParameter('sliceBytes', bytes, 'a multiple of 8, 4096 at least');
  return bytes;
};
