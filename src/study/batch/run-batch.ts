import { LayerloomError } from '../../core/base/errors/errors.js';
import { valueAt } from '../../core/base/errors/lookup.js';
import { makeShards } from '../../core/engine/compute/make-shards.js';
import type { InputFiles } from '../../core/engine/input-files.js';
import { checkLink, type Link } from '../../core/engine/output/link.js';
import { type Progress, Run, type RunCost, resumable } from '../../core/engine/run.js';
import type { WorkerPool } from '../../core/engine/threads/pool.js';
import type { PlanOptions } from '../../core/plan/compile/plan-recipe.js';
import type { ShardStore } from '../store/shard-store.js';
import { beginBatch, registration } from './begin-batch.js';
import { failureOf, type MergeOutcome, MergeTracker, readsOf } from './merge-tracker.js';
import type { BatchMerge } from './planning/batch-merge.js';
import { type BatchPlan, type BatchPlanOptions, narrowed, planBatch } from './planning/batch-plan.js';
import type { BatchCost } from './planning/cost.js';
import { type DistinctShard, groupShards } from './planning/groups.js';
import type { Part } from './planning/part.js';
import { StoreSink } from './store-sink.js';

/** Options of `runBatch`. */
export interface BatchOptions extends PlanOptions, Omit<BatchPlanOptions, 'assume'> {
  out: string;
  /** Directory of the store; default `.store` in `out`. */
  store?: string | undefined;
  /** How merges link shards; default `hard`. */
  link?: Link | undefined;
  /** Merges to write; all other merges are only planned. Default: all. */
  write?: ((merge: BatchMerge) => boolean) | undefined;
  /** Make one part's shards only, and assemble no merge. */
  range?: Part | undefined;
  /**
   * Merges to finish first: patterns of names, most urgent first; `*` stands for any text. Inputs that later
   * merges share are read again (`bytesReadAgain`).
   */
  first?: readonly string[] | undefined;
  /** Write a statement of each merge, as `attest` does, also for existing ones without. Default false. */
  attest?: boolean | undefined;
  /**
   * Called before writing, with the plan of all merges, the cost of the merges to write, and existing shards' keys.
   */
  onPlan?:
    | ((plan: BatchPlan<BatchMerge>, cost: BatchCost, present: ReadonlySet<string>) => void | Promise<void>)
    | undefined;
  /** Called when a merge is done or has failed. */
  onMerge?: ((outcome: MergeOutcome) => void | Promise<void>) | undefined;
}

export interface BatchResult extends RunCost {
  readonly merges: readonly MergeOutcome[];
  readonly cost: BatchCost;
  readonly warnings: readonly string[];
}

/**
 * Makes each distinct shard once, in stages that read their inputs once. Assembles each merge as soon as its
 * shards exist. If a merge fails, the others continue.
 *
 * @throws as `planBatch` and `checkPlaces`; LINK_REFUSED, DISK_SPACE, MEMORY_NEEDED, STORE_INVALID,
 * WRITE_FAILED, INTERRUPTED
 */
export const runBatch = async (
  merges: readonly BatchMerge[],
  options: BatchOptions,
): Promise<BatchResult> => {
  await using run = new Run(options);
  const { pool } = run;
  const link = checkLink(options.link ?? 'hard');
  const whole = await planBatch(merges, options);
  const plan = narrowed(whole, options.write ?? (() => true));
  const { store, present, stages, cost, inputs } = await beginBatch(plan, options, link, run);
  await options.onPlan?.(whole, cost, present);
  await inputs.verify();
  // The job that links merges reports refusals; parts do not.
  const failed = options.range === undefined ? plan.refused.map(failureOf) : [];
  for (const outcome of failed) await options.onMerge?.(outcome);

  const tracker = new MergeTracker(plan, options, store, inputs, link, readsOf(plan, stages), run);
  const mayBeNonFinite = new Set(
    plan.merges
      .filter(({ recipe }) => recipe.allowNonFinite)
      .flatMap(({ shards }) => shards.map(({ key }) => key)),
  );
  const sink = new StoreSink(store, pool, inputs, (key) => mayBeNonFinite.has(key), {
    onReady: (shard, madeHere) => tracker.ready(shard.key, madeHere ? shard.bytes : undefined),
    onFailed: (shard, error) => tracker.failed(shard.key, error),
  });
  const written = () => pool.counters.bytesWritten + sink.headerBytes;
  const progress = (): Progress => ({
    phase: 'merge',
    done: written(),
    total: cost.bytesToWrite,
    merges: { done: tracker.done, total: cost.merges },
    bytesRead: pool.counters.bytesRead,
  });
  try {
    await run.reporting(progress, async () => {
      for (const key of present) await tracker.ready(key, undefined);
      for (const stage of stages) {
        await makeShards(stage.groups, pool, inputs, sink);
        // Assembles the stage's merges before the next stage writes.
        await tracker.settled();
      }
      await makeLeft(pool, inputs, sink, store, run.signal);
      await tracker.settled();
    });
  } catch (error) {
    const reason = run.reasonOf(error, { state: 'complete merges stay' });
    await tracker.stop(reason);
    throw reason instanceof LayerloomError && mayContinue(reason)
      ? reason.with({ keptIn: options.range === undefined ? options.out : store.directory })
      : reason;
  } finally {
    await sink.close();
  }
  await store.registerExperiment(options.out, registration(plan, options.range === undefined));
  const outcomes = new Map([...tracker.outcomes(), ...failed].map((outcome) => [outcome.name, outcome]));
  return {
    merges: merges.flatMap(({ name }) => outcomes.get(name) ?? []),
    cost,
    ...run.cost,
    bytesWritten: written(),
    warnings: [...plan.warnings, ...run.warnings, ...tracker.warnings],
  };
};

/** True if a batch may continue after an error: if one input changes, shards of other inputs stay valid. */
const mayContinue = ({ code }: LayerloomError): boolean =>
  code === 'INPUT_CHANGED' || resumable.includes(code);

/**
 * Makes missing shards: first shards of failed groups, one by one, to find the faulty shard; then shards that other
 * processes did not finish.
 */
export const makeLeft = async (
  pool: WorkerPool,
  inputs: InputFiles,
  sink: StoreSink,
  store: ShardStore,
  signal: AbortSignal,
): Promise<void> => {
  const make = (some: readonly DistinctShard[]) =>
    makeShards(groupShards(some, inputs.idOf), pool, inputs, sink);
  while (sink.again.size + sink.elsewhere.size > 0) {
    for (const shard of [...sink.again]) {
      sink.again.delete(shard);
      await make([shard]);
    }
    if (sink.elsewhere.size === 0) continue;
    const waiting = new Map([...sink.elsewhere].map((shard) => [shard.key, shard]));
    const found = await store.waitFor([...waiting.keys()], { signal });
    const ended = found.map((key) => valueAt(waiting, key));
    for (const shard of ended) sink.elsewhere.delete(shard);
    await make(ended);
  }
};
