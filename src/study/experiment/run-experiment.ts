import { readdir, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { exists } from '../../core/base/files/exists.js';
import { writing } from '../../core/base/files/writing.js';
import { makeDirectories, openToAppend, orNoDirectories } from '../../core/engine/output/durable.js';
import { tryLock } from '../../core/native/addon.js';
import { clearStaging } from '../batch/assemble.js';
import type { BatchCost } from '../batch/planning/cost.js';
import { endedRuns, experimentExists, hasRecord, lockName } from '../batch/planning/record-names.js';
import { type BatchOptions, type BatchResult, runBatch } from '../batch/run-batch.js';
import { movedIn } from '../evaluation/scored-contents.js';
import { selectedNote } from '../evaluation/selected-by.js';
import { parseEvaluation } from '../evaluation/settings.js';
import { ownClaimant } from '../store/claims/claimant.js';
import type { ExperimentInput } from './file/blocks/experiment-block.js';
import type { ExperimentMerge } from './file/expand.js';
import type { Experiment } from './file/read-experiment.js';
import { noteMadeHere } from './made-here.js';
import {
  checkPlacesOf,
  type ExperimentOptions,
  madeIn,
  storeOf,
  withExperiment,
  writtenBy,
} from './open-experiment.js';
import { type ExperimentRecord, formerRecord } from './record/experiment-record.js';
import { RecordFile } from './record/record-file.js';
import { RunRecord } from './record/run-record.js';
import { batchAtWork } from './scoring/progress/batch-at-work.js';
import { describeLeft } from './scoring/requests/left-results.js';
import { describeTrained } from './scoring/requests/trained-problems.js';
import { scoredTexts, trainingFactsOf } from './scoring/requests/training-facts.js';

export interface ExperimentResult extends BatchResult {
  readonly experiment: ExperimentRecord;
}

/**
 * Runs an experiment: pairs × configurations × languages, over one store of shards. `experiment.json` in
 * `out` records every merge's state, at most a second late.
 *
 * @example await runExperiment('swahili.yaml', { out: './swahili' })
 * @example await runExperiment({ tasks: { math: './math-1' }, languages: { swahili: { swh: './swh-1' } },
 * merges: [{ name: 'default', method: 'layer_swap' }] }, { out: './swahili' })
 * @param input an experiment's file (YAML), or an object with keys in camel case
 * @throws RECIPE_INVALID, JOBS_OUTDATED and the codes of `runBatch`; OUTPUT_EXISTS for an existing experiment
 * without `resume`. A failed merge does not throw; its record has the error.
 */
export const runExperiment = (
  input: ExperimentInput | string,
  options: ExperimentOptions,
): Promise<ExperimentResult> => {
  const started = performance.now();
  return orNoDirectories(() =>
    withExperiment(input, options, async ({ experiment, merges, batch: given }) => {
      const out = resolve(options.out);
      await checkPlacesOf(experiment, merges, options);
      const note = selectedNote(experiment.evaluate);
      const cardNotes = note === undefined ? [] : [note];
      const batch = { ...given, out, identitiesOf: movedIn(out, true), cardNotes };
      // In an array of jobs, only the last job writes merges.
      if (options.range !== undefined) {
        const result = await runBatch(merges, batch);
        const record = new RunRecord(experiment, merges, batch, started);
        return {
          ...result,
          experiment: record.of('running', result.cost, { bytesRead: 0, bytesWritten: 0 }),
        };
      }
      return await locked(out, async () => {
        const hasFormer = await hasRecord(out);
        if (hasFormer && !options.resume && !options.force) throw experimentExists(out);
        await clearStaging(
          out,
          merges.map(({ path }) => path),
        );
        const former = hasFormer ? await formerRecord(out) : undefined;
        const write = writtenBy(options, merges, former);
        const made = madeIn(out, former, await storeOf(batch), 'lookup');
        const record = new RunRecord(experiment, merges, batch, started, former);
        const notes = former === undefined ? [] : await trainedNotes(out, former);
        return await runHere(
          experiment,
          merges,
          { ...batch, write, made, cardNotes: [...cardNotes, ...notes] },
          record,
          former,
        );
      });
    }),
  );
};

/** Returns notes for model cards: problems scored before this run that the experts were trained on. */
const trainedNotes = async (out: string, former: ExperimentRecord): Promise<string[]> => {
  const { problems } = await trainingFactsOf(out, former, await scoredTexts(out, former));
  return problems.map((trained) => `${describeTrained(trained)}.`);
};

/**
 * Locks a directory, creating it if needed. Removes the lock file if the work fails before writing anything.
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
    // Only evaluations read the lock's text.
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
    // An empty lock means that nobody works here. Another process's lock stays as it is.
    if (isLocked) await file.truncate().catch(() => endedRuns.add(out));
    await file.close();
  }
};

const describeHolder = (holder: Awaited<ReturnType<typeof batchAtWork>>): string | undefined =>
  holder === undefined
    ? undefined
    : `process ${holder.pid} on ${holder.host}${holder.since === undefined ? '' : `, since ${holder.since},`}`;

const runHere = async (
  { evaluate }: Experiment,
  merges: readonly ExperimentMerge[],
  options: BatchOptions,
  record: RunRecord,
  former: ExperimentRecord | undefined,
): Promise<ExperimentResult> => {
  let cost: BatchCost | undefined;
  let moved = { bytesRead: 0, bytesWritten: 0 };
  const writer = new RecordFile(options.out);
  const recordAs = (state: ExperimentRecord['state']) => record.of(state, cost as BatchCost, moved);
  const running = () => Promise.resolve(recordAs('running'));
  const scoring = evaluate?.tasks === undefined ? undefined : parseEvaluation(evaluate, options.out);
  try {
    const result = await runBatch(merges, {
      ...options,
      onPlan: async (plan, planned, present) => {
        cost = planned;
        record.addPlan(plan);
        await options.onPlan?.(plan, planned, present);
        if (scoring !== undefined) await noteMadeHere(options.out, scoring);
        // While the states of merges are unknown, the former record stays.
        if (former !== undefined) writer.updateSoon(running);
        else await writer.update(running);
      },
      onProgress: (progress) => {
        if (progress.phase === 'merge')
          moved = { bytesRead: progress.bytesRead ?? 0, bytesWritten: progress.done };
        options.onProgress?.(progress);
      },
      onMerge: async (outcome) => {
        record.addOutcome(outcome);
        await options.onMerge?.(outcome);
        writer.updateSoon(running);
      },
    });
    for (const outcome of result.merges) record.addOutcome(outcome);
    moved = { bytesRead: result.bytesRead, bytesWritten: result.bytesWritten };
    const isDone = result.merges.every(({ state }) => state === 'done');
    const written = await writer.write(recordAs(isDone ? 'done' : 'incomplete'));
    const left = describeLeft(written, options.out, former);
    return { ...result, warnings: [...result.warnings, ...left], experiment: written };
  } catch (error) {
    if (cost !== undefined) await writer.write(recordAs('incomplete')).catch(() => undefined);
    throw error;
  }
};
