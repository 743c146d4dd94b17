import { resolve } from 'node:path';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { pick } from '../../../core/base/errors/lookup.js';
import { checkThreads } from '../../../core/engine/run.js';
import { diskNeedOf } from '../../../study/batch/planning/check-batch.js';
import type { Part } from '../../../study/batch/planning/part.js';
import type { Experiment } from '../../../study/experiment/file/read-experiment.js';
import type { ExperimentOptions } from '../../../study/experiment/open-experiment.js';
import { planExperiment } from '../../../study/experiment/plan-experiment.js';
import { runExperiment } from '../../../study/experiment/run-experiment.js';
import { scoringOf } from '../../../study/experiment/scoring/plan-evaluation.js';
import {
  type CheckedTasks,
  checkExperimentTasks,
} from '../../../study/experiment/scoring/requests/check-tasks.js';
import { toPart } from '../../options/parse.js';
import { note, printEvent, printJson, printLine, printNext, warn } from '../../print.js';
import type { BatchDone, PlannedBatch } from '../../printed.js';
import {
  describeCost,
  describeMerges,
  describeOutcomes,
  describeStages,
  describeTimes,
  failuresOf,
} from '../../text/studies/batch-text.js';
import type { CommonOptions } from '../merging/merge-options.js';
import { interruptible } from '../running/interrupt.js';
import { requireOut } from '../running/require-out.js';
import { watched } from '../running/show.js';

export interface BatchCommandOptions extends CommonOptions {
  readonly experiment: string;
  readonly store?: string;
  readonly part?: string;
  readonly write?: readonly string[];
  readonly inPlace?: boolean;
  readonly first?: readonly string[];
  readonly expect?: string;
}

export const batchCommand = async (options: BatchCommandOptions): Promise<void> => {
  const { experiment: file } = options;
  const threads = checkThreads(options.threads);
  const range = options.part === undefined ? undefined : toPart('part', options.part);
  const { inPlace } = options;
  if (inPlace && (options.write !== undefined || range !== undefined))
    throw new LayerloomError('USAGE', {
      reason: `--in-place writes no merge, and ${range === undefined ? '--write' : '--part'} says what to write; give one of them`,
    });
  if (options.attest && (inPlace || range !== undefined))
    throw new LayerloomError('USAGE', {
      reason: `--attest states merges that are written, and ${inPlace ? '--in-place' : '--part'} writes none`,
    });
  const write = inPlace ? [] : options.write;
  if (options.dryRun) return await dryRun(file, options, threads, range, write);
  const out = requireOut(options);
  let lastEvent = 0;
  const told = new Set<string>();
  const result = await watched(options, ({ signal, onProgress }) =>
    runExperiment(file, {
      ...options,
      ...{ out, range, write, threads, signal },
      onPlan: async (plan, cost, present) => {
        if (options.json) printEvent('plan', { cost });
        else if (!options.quiet && !inPlace)
          note(
            `${describeCost(cost, await diskNeedOf(plan, { out, store: options.store, link: options.link, range }, present))}\n`,
          );
        if (options.quiet) return;
        for (const warning of plan.warnings) told.add(warning);
        told.forEach(warn);
      },
      onMerge: (outcome) => {
        if (options.json) printEvent('merge', outcome);
      },
      onProgress:
        onProgress &&
        ((state) => {
          if (!options.json) return onProgress(state);
          if (performance.now() - lastEvent < 1000) return;
          lastEvent = performance.now();
          printEvent('progress', state);
        }),
    }),
  );
  if (!options.quiet) result.warnings.filter((warning) => !told.has(warning)).forEach(warn);
  const failed = failuresOf(result.merges);
  const isScored = range === undefined && result.experiment.evaluate?.tasks !== undefined;
  const pending = result.experiment.merges.filter(({ state }) => state === 'pending').length;
  const evaluation = inPlace
    ? layerloomCommand('evaluate', argument(out), '--in-place')
    : layerloomCommand('evaluate', argument(out));
  const next = isScored ? evaluation : undefined;
  if (options.json) {
    const { experiment: _experiment, merges: _merges, ...rest } = result;
    const done = { ...rest, failed: failed.length, ...(next === undefined ? {} : { next }) };
    printEvent('done', done satisfies Omit<BatchDone, 'event'>);
  } else if (!options.quiet) {
    printLine(describeOutcomes(result.merges, { ...result, pending, out: resolve(out) }));
    printNext(next);
  }
  if (failed.length > 0)
    throw new LayerloomError('BATCH_INCOMPLETE', { out, merges: result.merges.length, failed });
};

const dryRun = async (
  file: string,
  options: BatchCommandOptions,
  threads: number,
  range: Part | undefined,
  write: ExperimentOptions['write'],
): Promise<void> => {
  const {
    plan,
    stages,
    cost,
    stamp,
    experiment,
    download: toFetch,
    wanted,
    disk,
    merging,
    inPlace,
  } = await planExperiment(file, {
    ...options,
    ...{ threads, range, write },
    checksums: false,
    download: options.download && 'headers',
  });
  const tasks = await checkTasks(experiment, options);
  const scoring = await scoringOf(experiment, options.out, plan);
  if (!options.quiet) [...plan.warnings, ...wanted.map(({ message }) => message)].forEach(warn);
  const failed = plan.refused.map(({ merge, error }) => ({ merge: merge.name, message: error.message }));
  if (options.json)
    printJson({
      cost,
      download: toFetch,
      disk,
      inPlace,
      time: { merging, scoring },
      stages: stages.map(({ merges, bytesToWrite }) => ({
        merges: merges.map(({ merge }) => merge.name),
        bytesToWrite,
      })),
      stamp,
      tasks: {
        unchecked: tasks.unchecked,
        failed: [...tasks.failed].map(([task, { code, message }]) => ({ task, code, message })),
      },
      merges: plan.merges.map(({ merge, bytes, shards }) => ({
        ...pick(merge, 'name', 'language', 'task', 'languageExpert', 'method', 'configuration'),
        bytes,
        shards: shards.length,
      })),
      refused: plan.refused.map(({ merge, error: { code, message } }) => ({
        merge: merge.name,
        error: { code, message },
      })),
    } satisfies PlannedBatch);
  else if (!options.quiet) {
    const merges = plan.merges.map(({ merge }) => merge);
    printLine(`${describeMerges(merges, options.verbose ?? false)}\n`);
    printLine(describeCost(cost, disk, toFetch, inPlace));
    printLine(`\n${describeTimes(merging, scoring, options.out ?? 'DIR')}`);
    if (stages.length > 1) printLine(`\n${describeStages(stages)}`);
    if (tasks.unchecked.length > 0)
      printLine(
        `\nunchecked, since lm_eval is not installed here: the names of ${tasks.unchecked.join(', ')}`,
      );
  }
  if (failed.length > 0)
    throw new LayerloomError('BATCH_INCOMPLETE', { merges: failed.length + plan.merges.length, failed });
  for (const error of tasks.failed.values()) throw error;
};

const checkTasks = async (experiment: Experiment, { quiet }: BatchCommandOptions): Promise<CheckedTasks> => {
  const tasks = await interruptible((signal) => checkExperimentTasks(experiment, signal));
  if (!quiet) for (const [task, { message }] of tasks.failed) warn(`${task}: ${message}`);
  return tasks;
};
