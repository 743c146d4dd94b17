import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { exists } from '../../core/base/files/exists.js';
import { version } from '../../core/base/files/version.js';
import { writing } from '../../core/base/files/writing.js';
import { checkApartFrom } from '../../core/engine/output/apart.js';
import { makeDirectories, openToAppend, orNoDirectories } from '../../core/engine/output/durable.js';
import { matches } from '../../core/methods/framework/match-names.js';
import { withPlace } from '../../core/methods/recipe/read-recipe.js';
import { tryLock } from '../../core/native/addon.js';
import type { PlannedDownload } from '../../core/plan/plan.js';
import { missingWeights } from '../../core/plan/reports/missing-weights.js';
import { clearStaging, isAssembled } from '../batch/assemble.js';
import type { MergeOutcome } from '../batch/merge-tracker.js';
import { type BatchPlan, narrowed, planBatch } from '../batch/planning/batch-plan.js';
import {
  checkBatch,
  checkPlaces,
  type DiskNeed,
  diskNeedOf,
  openThere,
} from '../batch/planning/check-batch.js';
import { type BatchCost, costOf } from '../batch/planning/cost.js';
import { linkedIn, sourcesIn } from '../batch/planning/inputs-of.js';
import { endedRuns, experimentExists, hasRecord, lockName } from '../batch/planning/record-names.js';
import { type Stage, stagesOf } from '../batch/planning/stages.js';
import { type BatchOptions, type BatchResult, runBatch } from '../batch/run-batch.js';
import { movedIn } from '../evaluation/scored-contents.js';
import { selectedNote } from '../evaluation/selected-by.js';
import { parseEvaluation } from '../evaluation/settings.js';
import { ownClaimant } from '../store/claims/claimant.js';
import { shardsOfMerge, weightsOfShards } from '../store/files/weights.js';
import type { ShardStore } from '../store/shard-store.js';
import { checkExpected, stampOf } from './expected.js';
import type { ExperimentInput } from './file/blocks/experiment-block.js';
import { requirePartitions } from './file/blocks/partitions.js';
import { type ExperimentMerge, expandExperiment } from './file/expand.js';
import { missingReferences } from './file/missing-references.js';
import { type Experiment, parseExperiment, readExperiment } from './file/read-experiment.js';
import { experimentReferences } from './file/references.js';
import { type CostInPlace, costInPlace } from './in-place/cost-in-place.js';
import { noteMadeHere } from './made-here.js';
import { type MeasuredMerging, measuredMerging, mergingSeconds, workOf } from './measured-merging.js';
import { type ExperimentRecord, formerRecord, type MergeRecord } from './record/experiment-record.js';
import { RecordFile } from './record/record-file.js';
import { recordedOptions, withOptions } from './recorded-options.js';
import { batchAtWork } from './scoring/progress/batch-at-work.js';
import { describeLeft } from './scoring/requests/left-results.js';

/** Options of `runExperiment`. */
export interface ExperimentOptions extends Omit<BatchOptions, 'write'> {
  /** Continue an existing experiment. Keeps complete merges; replaces others if layerloom wrote them. */
  resume?: boolean | undefined;
  /** The same as `resume`. */
  force?: boolean | undefined;
  /** Merges to make and record, as if the experiment had no others. Default: all. */
  only?: ((merge: ExperimentMerge) => boolean) | undefined;
  /**
   * Recorded merges to write: patterns of names, in which `*` stands for any text; may be empty. Merges that
   * an earlier run wrote are kept up to date; the others stay pending, and can be scored in place. Default:
   * all.
   */
  write?: readonly string[] | undefined;
  /** Overrides the experiment's tokenizer source: `auto`, `strict`, … */
  tokenizer?: string | undefined;
  /** Allow NaN and infinity in every merge, instead of refusing them with NON_FINITE. */
  allowNonFinite?: boolean | undefined;
  /** Base of relative paths, for an experiment given as an object. */
  directory?: string | undefined;
  /**
   * The stamp of this run's jobs, from `planExperiment`: refuses another version of layerloom or text of the
   * experiment.
   */
  expect?: string | undefined;
}

/** Cost of a run, and the record in `experiment.json`. */
export interface ExperimentResult extends BatchResult {
  readonly experiment: ExperimentRecord;
}

/**
 * Runs an experiment: pairs × configurations × languages, over one store of shards. `experiment.json` in
 * `out` records the state of every merge, at most a second late.
 *
 * @example await runExperiment('swahili.yaml', { out: './swahili' })
 * @example await runExperiment({ tasks: { math: './math-1' }, languages: { swahili: { swh: './swh-1' } },
 *   merges: [{ name: 'default', method: 'layer_swap' }] }, { out: './swahili' })
 * @param input an experiment's file (YAML), or an object with keys in camel case
 * @throws LayerloomError RECIPE_INVALID, JOBS_OUTDATED and the codes of `runBatch`; OUTPUT_EXISTS if there is
 *   an experiment already, without `resume`. A failed merge does not throw: its record has the error.
 */
export const runExperiment = (
  input: ExperimentInput | string,
  options: ExperimentOptions,
): Promise<ExperimentResult> => orNoDirectories(() => run(input, options));

const run = async (
  input: ExperimentInput | string,
  options: ExperimentOptions,
): Promise<ExperimentResult> => {
  const started = performance.now();
  const experiment = await openExperiment(input, options);
  const out = resolve(options.out);
  return await placed(experiment, async () => {
    const merges = expandExperiment(experiment).filter(options.only ?? (() => true));
    requirePartitions(experiment);
    const warnings = await missingReferences(experiment);
    const { write: _write, ...others } = options;
    await checkPlacesOf(experiment, merges, options);
    const identitiesOf = movedIn(out, true);
    const note = selectedNote(experiment.evaluate);
    const cardNotes = note === undefined ? [] : [note];
    const batch = { ...others, ...commonOf(experiment, options), out, warnings, identitiesOf, cardNotes };
    // Only the last job of an array writes the directory.
    if (options.range !== undefined) {
      const result = await runBatch(merges, batch);
      return { ...result, experiment: recordOf(experiment, merges, batch, result.cost, new Map(), started) };
    }
    return await locked(out, async () => {
      const hasFormer = await hasRecord(out);
      if (hasFormer && !options.resume && !options.force) throw experimentExists(out);
      await clearStaging(
        out,
        merges.map(({ path }) => path),
      );
      const before = hasFormer ? await formerRecord(out) : undefined;
      const write = writtenBy(options, merges, before);
      const made = madeIn(out, before, await storeOf(batch), 'lookup');
      return await runHere(experiment, merges, { ...batch, write, made }, started, before);
    });
  });
};

/**
 * Checks the experiment's models before a directory or lock is made; models of merges are checked once
 * opened.
 */
const checkPlacesOf = async (
  experiment: Experiment,
  merges: readonly ExperimentMerge[],
  options: Pick<ExperimentOptions, 'out' | 'store'>,
): Promise<void> => {
  const { out, store = out } = options;
  for (const place of new Set([out, store])) await checkApartFrom(place, modelsOf(experiment));
  await checkPlaces(
    merges.map(({ name }) => name),
    [],
    options,
  );
};

/** Models named outside the merges. */
const modelsOf = ({ base, tasks, languages, runs, furtherReferences }: Experiment): string[] => [
  ...(base === undefined ? [] : [base]),
  ...[tasks, ...languages.values()].flatMap((models) => [...models.values()]),
  ...[...runs.values(), ...furtherReferences].map(({ path }) => path),
];

/**
 * Returns a predicate of the merges to write: those matching a pattern, and those written earlier.
 *
 * @throws LayerloomError INVALID_PARAMETER if a pattern matches no merge
 */
const writtenBy = (
  { write }: Pick<ExperimentOptions, 'write'>,
  merges: readonly ExperimentMerge[],
  before: ExperimentRecord | undefined,
): NonNullable<BatchOptions['write']> => {
  if (write === undefined) return () => true;
  const lost = write.find((pattern) => !merges.some(({ name }) => matches(name, pattern)));
  if (lost !== undefined)
    throw invalidParameter(
      'write',
      lost,
      `names of merges, in which * is any text, such as ${merges[0]?.name}`,
    );
  const there = new Set(before?.merges.flatMap(({ name, state }) => (state === 'done' ? [name] : [])));
  return ({ name }) => there.has(name) || write.some((pattern) => matches(name, pattern));
};

/**
 * Locks a directory, creating it if needed. If the work fails before writing anything, removes the lock file.
 */
const locked = async <T>(out: string, work: () => Promise<T>): Promise<T> => {
  const lockPath = join(out, lockName);
  const isNew = !(await exists(lockPath));
  const file = await writing(out, async () => {
    await makeDirectories(out, true);
    return await openToAppend(lockPath);
  });
  let isLocked = false;
  try {
    if (tryLock(file.fd) === 'held elsewhere')
      throw new LayerloomError('OUTPUT_BUSY', {
        out,
        staging: lockPath,
        by: describeHolder(await batchAtWork(out)),
      });
    isLocked = true;
    endedRuns.delete(out);
    // Only evaluators read the text.
    await file
      .truncate()
      .then(async () =>
        file.write(`${JSON.stringify({ ...(await ownClaimant()), since: new Date().toISOString() })}\n`),
      )
      .catch(() => undefined);
    try {
      return await work();
    } catch (error) {
      const names = isNew ? await readdir(out).catch(() => []) : [];
      if (names.length === 1) await rm(lockPath, { force: true });
      throw error;
    }
  } finally {
    // Empty means that nobody works here. Another process's lock keeps its text.
    if (isLocked) await file.truncate().catch(() => endedRuns.add(out));
    await file.close();
  }
};

const describeHolder = (holder: Awaited<ReturnType<typeof batchAtWork>>): string | undefined =>
  holder === undefined
    ? undefined
    : `process ${holder.pid} on ${holder.host}${holder.since === undefined ? '' : `, since ${holder.since},`}`;

/** Run options with `write` resolved to a predicate. */
type RunOptions = Omit<ExperimentOptions, 'write'> & Pick<BatchOptions, 'write'>;

const runHere = async (
  experiment: Experiment,
  merges: readonly ExperimentMerge[],
  options: RunOptions,
  started: number,
  former: ExperimentRecord | undefined,
): Promise<ExperimentResult> => {
  const outcomes = new Map<string, MergeOutcome>();
  let cost: BatchCost | undefined;
  let moved = { bytesRead: 0, bytesWritten: 0 };
  const writer = new RecordFile(options.out);
  const weights = new Map<string, string>();
  const bases = new Map<string, string>();
  const record = (state: ExperimentRecord['state'], done?: BatchResult): ExperimentRecord => {
    const own = recordOf(experiment, merges, options, cost as BatchCost, outcomes, started, weights);
    const known = { ...own, merges: own.merges.map((merge) => withBasis(merge, bases.get(merge.name))) };
    const { bytesRead, bytesWritten } = done ?? moved;
    const kept = former === undefined ? known : withFormerFigures(known, former, outcomes);
    const isNothingDone = state === 'done' && former?.state === 'done' && allKept(done?.merges ?? []);
    if (former === undefined || !isNothingDone) return { ...kept, state, bytesRead, bytesWritten };
    // This run made nothing and has no figures.
    const { cost: planned, bytesRead: read, bytesWritten: written, seconds } = former;
    return { ...kept, state, cost: planned, bytesRead: read, bytesWritten: written, seconds };
  };
  const { evaluate } = experiment;
  const scoring = evaluate?.tasks === undefined ? undefined : parseEvaluation(evaluate, options.out);
  try {
    const result = await runBatch(merges, {
      ...options,
      onPlan: async (plan, planned, present) => {
        cost = planned;
        for (const { merge, shards } of plan.merges)
          weights.set(merge.name, weightsOfShards(shards.map(({ key }) => key)));
        for (const { merge, basis } of plan.merges) if (basis !== undefined) bases.set(merge.name, basis);
        await options.onPlan?.(plan, planned, present);
        if (scoring !== undefined) await noteMadeHere(options.out, scoring);
        // Keep the former record until the states of merges are known.
        if (former !== undefined) writer.updateSoon(() => Promise.resolve(record('running')));
        else await writer.write(record('running'));
      },
      onProgress: (progress) => {
        if (progress.phase === 'merge')
          moved = { bytesRead: progress.bytesRead ?? 0, bytesWritten: progress.done };
        options.onProgress?.(progress);
      },
      onMerge: async (outcome) => {
        outcomes.set(outcome.name, outcome);
        await options.onMerge?.(outcome);
        writer.updateSoon(() => Promise.resolve(record('running')));
      },
    });
    for (const outcome of result.merges) outcomes.set(outcome.name, outcome);
    const isDone = result.merges.every(({ state }) => state === 'done');
    const finished = record(isDone ? 'done' : 'incomplete', result);
    const written = await writer.write(finished);
    const left = describeLeft(written, options.out, former);
    return { ...result, warnings: [...result.warnings, ...left], experiment: written };
  } catch (error) {
    if (cost !== undefined) await writer.write(record('incomplete')).catch(() => undefined);
    throw error;
  }
};

const withBasis = (merge: MergeRecord, basis: string | undefined): MergeRecord =>
  basis === undefined ? merge : { ...merge, basis };

const allKept = (outcomes: readonly MergeOutcome[]): boolean =>
  outcomes.every(({ isKept }) => isKept === true);

/** Restores the figures of merges that an earlier run made. */
const withFormerFigures = (
  record: ExperimentRecord,
  former: ExperimentRecord,
  outcomes: ReadonlyMap<string, MergeOutcome>,
): ExperimentRecord => {
  const byPath = new Map(former.merges.map((merge) => [merge.path, merge]));
  const merges = record.merges.map((merge) => {
    const before = byPath.get(merge.path);
    const isKept = outcomes.get(merge.name)?.isKept === true;
    if (!isKept || before?.state !== 'done') return merge;
    const { shards, bytesRead, bytesWritten, seconds } = before;
    return { ...merge, shards, bytesRead, bytesWritten, seconds };
  });
  return { ...record, merges };
};

/**
 * Plans an experiment: the shards of each merge, and the cost over an empty store, or the remaining cost if
 * `out` has a record. Reads headers and a few sampled blocks of each file; writes nothing. With `out`, also
 * checks the output.
 *
 * @example const { cost } = await planExperiment('swahili.yaml', {})
 * @throws LayerloomError RECIPE_INVALID, the codes of checkpoints that cannot be opened or merged, and those
 *   that `runExperiment` throws before its first weight
 */
export const planExperiment = async (
  input: ExperimentInput | string,
  options: Omit<ExperimentOptions, 'out'> & { readonly out?: string | undefined },
): Promise<{
  readonly plan: BatchPlan<ExperimentMerge>;
  /** The order in which merges are finished. */
  readonly stages: readonly Stage<ExperimentMerge>[];
  readonly cost: BatchCost;
  /** Weights to fetch from hubs; may be 0 bytes. */
  readonly download: PlannedDownload;
  readonly experiment: Experiment;
  /** For `expect` of runs. */
  readonly stamp: string;
  /** Disk space of the store. */
  readonly disk: DiskNeed;
  /** At the rate of an earlier run over the same directory or store; null without one. */
  readonly merging: { readonly seconds: number; readonly by: MeasuredMerging } | null;
  /** Errors that an option would avoid: an existing output, missing weights. */
  readonly wanted: readonly LayerloomError[];
  /** Cost of scoring unwritten merges. */
  readonly inPlace: CostInPlace;
}> => {
  const experiment = await openExperiment(input, options);
  return await placed(experiment, async () => {
    const merges = expandExperiment(experiment).filter(options.only ?? (() => true));
    requirePartitions(experiment);
    const warnings = await missingReferences(experiment);
    const { out } = options;
    const before = out === undefined ? undefined : await formerRecord(resolve(out));
    const store = await storeOf(options);
    const plan = await planBatch(merges, {
      ...options,
      ...commonOf(experiment, options),
      warnings,
      assume: true,
      ...(out === undefined
        ? {}
        : { identitiesOf: movedIn(out, false), made: madeIn(resolve(out), before, store, 'expect') }),
    });
    if (out !== undefined) await checkPlacesOf(experiment, merges, { ...options, out });
    const isWritten = writtenBy(options, merges, before);
    const written = narrowed(plan, isWritten);
    const present = await presentIn(written, store);
    // A resumed experiment costs only what remains.
    const stages = stagesOf(written, (key) => before === undefined || !present.has(key), options.first);
    const groups = stages.flatMap((stage) => stage.groups);
    const missing = await missingWeights(plan.inputs, sourcesIn(groups), linkedIn(written));
    const checked = await checkBatch(written, options, present);
    const { wanted } = checked;
    if (missing.needs.length > 0 && !options.download)
      wanted.push(new LayerloomError('DOWNLOAD_NEEDED', { models: missing.models }));
    const [cost, stamp] = [costOf(written, stages, options), stampOf(experiment.text)];
    const { bytes, models } = missing;
    const disk = await diskNeedOf(written, options, present);
    const inPlace = await costInPlace(
      narrowed(plan, (merge) => !isWritten(merge)),
      out ?? '.',
    );
    const by = await measuredMerging(options.out ?? '.', options.store);
    const merging = by === undefined ? null : { seconds: mergingSeconds(cost, disk.shards, by), by };
    return {
      ...{ stages, experiment, stamp, cost, disk, merging, wanted, inPlace },
      plan: { ...plan, warnings: [...plan.warnings, ...checked.warnings] },
      download: { bytes, models },
    };
  });
};

const storeOf = async ({
  out,
  store,
}: Pick<BatchOptions, 'store'> & { readonly out?: string | undefined }): Promise<ShardStore | undefined> =>
  out === undefined && store === undefined
    ? undefined
    : await openThere(resolve(store ?? join(out ?? '.', '.store')));

/** Considers only shards whose keys are certain. */
const presentIn = async (
  { merges, shards }: BatchPlan<ExperimentMerge>,
  store: ShardStore | undefined,
): Promise<ReadonlySet<string>> => {
  const present = new Set<string>();
  if (store === undefined) return present;
  // In a dry run, unmade merges with statistics have placeholder keys.
  const certain = merges.filter(({ basis, isMade }) => basis === undefined || isMade);
  for (const key of new Set(certain.flatMap((merge) => merge.shards.map(({ key }) => key))))
    if (shards.has(key) && (await store.expect(key)) !== undefined) present.add(key);
  return present;
};

/**
 * Finds merges with statistics in an earlier run's record.
 *
 * @param look finds a shard in the store
 */
const madeIn =
  (
    out: string,
    before: ExperimentRecord | undefined,
    store: ShardStore | undefined,
    look: 'lookup' | 'expect',
  ): NonNullable<BatchOptions['made']> =>
  async (name, basis, shards) => {
    const recorded = before?.merges.find((merge) => merge.path === name);
    if (store === undefined || recorded?.state !== 'done' || recorded.basis !== basis) return undefined;
    const directory = join(out, name);
    const keys = new Map((await shardsOfMerge(directory))?.map(({ file, key }) => [file, key]));
    const found = shards.flatMap((shard) => {
      const key = keys.get(shard.file);
      return key === undefined ? [] : [{ ...shard, key }];
    });
    if (found.length < shards.length || !(await isAssembled(directory, found, store))) return undefined;
    for (const { key, verbatim } of found)
      if (verbatim === undefined && (await store[look](key)) === undefined) return undefined;
    return found;
  };

const openExperiment = async (
  input: ExperimentInput | string,
  { directory, tokenizer, allowNonFinite, expect }: OpeningOptions,
): Promise<Experiment> => {
  const experiment =
    typeof input === 'string' ? await readExperiment(input) : await parseExperiment(input, { directory });
  if (expect !== undefined) checkExpected(expect, experiment.text, experiment.file ?? 'the experiment');
  return withOptions(experiment, { tokenizer, allowNonFinite });
};

type OpeningOptions = Pick<ExperimentOptions, 'directory' | 'tokenizer' | 'allowNonFinite' | 'expect'>;

const commonOf = (
  { layout, maxShardSize }: Experiment,
  options: Omit<ExperimentOptions, 'out'>,
): Pick<BatchOptions, 'layout' | 'maxShardSize'> => ({
  layout: options.layout ?? layout,
  maxShardSize: options.maxShardSize ?? maxShardSize,
});

/** Adds the place in the experiment's file to errors about its values. */
const placed = async <T>(experiment: Experiment, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    const { merge, place } = error.context;
    // A merge's error has a path in its own recipe.
    throw merge !== undefined || place !== undefined ? error : withPlace(error, experiment);
  }
};

/** Divides a run's time among merges, by bytes. */
const sharesOf = (outcomes: Iterable<MergeOutcome>, seconds: number) => {
  const work = ({ bytesWritten, bytesRead }: MergeOutcome): number => workOf(bytesWritten, bytesRead);
  const all = [...outcomes].reduce((sum, outcome) => sum + work(outcome), 0);
  return (outcome: MergeOutcome | undefined): number =>
    outcome === undefined || all === 0 ? 0 : (seconds * work(outcome)) / all;
};

const recordOf = (
  experiment: Experiment,
  merges: readonly ExperimentMerge[],
  options: RunOptions,
  cost: BatchCost,
  outcomes: ReadonlyMap<string, MergeOutcome>,
  started: number,
  weights: ReadonlyMap<string, string> = new Map(),
): ExperimentRecord => {
  const seconds = (performance.now() - started) / 1000;
  const secondsOf = sharesOf(outcomes.values(), seconds);
  return {
    layerloom: version,
    state: 'running',
    experiment: experiment.text,
    base: experiment.base ?? null,
    store: resolve(options.store ?? join(options.out, '.store')),
    options: recordedOptions(experiment, options),
    merges: merges.map(
      ({ name, language, task, languageExpert, method, configuration, path }): MergeRecord => {
        const outcome = outcomes.get(name);
        const own = outcome === undefined ? weights.get(name) : outcome.weights;
        return {
          name,
          language,
          task,
          languageExpert,
          method,
          configuration,
          path,
          state: outcome?.state ?? 'pending',
          shards: outcome?.shards ?? { shared: 0, new: 0 },
          bytesRead: outcome?.bytesRead ?? 0,
          bytesWritten: outcome?.bytesWritten ?? 0,
          seconds: secondsOf(outcome),
          ...(own === undefined ? {} : { weights: own }),
          ...(outcome?.error === undefined ? {} : { error: outcome.error }),
        };
      },
    ),
    references: experimentReferences(experiment),
    ...(options.first === undefined ? {} : { first: options.first }),
    ...(experiment.evaluate === undefined ? {} : { evaluate: experiment.evaluate }),
    cost,
    bytesRead: 0,
    bytesWritten: 0,
    seconds,
  };
};
