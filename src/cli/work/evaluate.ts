import { argument, layerloomCommand } from '../../core/base/command-line.js';
import { LayerloomError } from '../../core/base/errors.js';
import {
  type EvaluationOutcome,
  evaluateExperiment,
} from '../../study/experiment/scoring/evaluate-experiment.js';
import { evaluationCommands } from '../../study/experiment/scoring/evaluation-commands.js';
import type { EvaluateOptions } from '../../study/experiment/scoring/evaluation-options.js';
import { importResults } from '../../study/experiment/scoring/import-results.js';
import { planEvaluation } from '../../study/experiment/scoring/plan-evaluation.js';
import type { OutputOptions } from '../options/output.js';
import { toPart } from '../options/parse.js';
import { note, printEvent, printJson, printLine, printNext, printText, warn } from '../print.js';
import type { EvaluationCommands, EvaluationDone, Imported } from '../printed.js';
import {
  describeEvaluation,
  describeEvaluationPlan,
  describeImport,
  describeScoring,
  failedModels,
} from '../text/evaluation-text.js';
import { interruptible } from './interrupt.js';
import { show } from './show.js';
import { StatusLine } from './status-line.js';

export interface EvaluateCommandOptions extends OutputOptions {
  readonly directory: string;
  readonly lmEval?: string;
  readonly only?: readonly string[];
  readonly part?: string;
  readonly expect?: string;
  readonly jobs?: number;
  readonly limit?: number;
  readonly resume?: boolean;
  readonly force?: boolean;
  readonly inPlace?: boolean;
  readonly separate?: boolean;
  readonly download?: boolean;
  readonly allowServe?: boolean;
  readonly print?: boolean;
  readonly dryRun?: boolean;
  readonly import?: string;
}

export const evaluateCommand = async (options: EvaluateCommandOptions): Promise<void> => {
  const { directory, lmEval, only, jobs, limit, resume, force, json, quiet } = options;
  const { inPlace, separate, download, allowServe, expect } = options;
  const [first, second] = Object.entries({
    '--print': options.print,
    '--dry-run': options.dryRun,
    '--import': options.import,
  }).flatMap(([name, isGiven]) => (isGiven ? [name] : []));
  if (second !== undefined)
    throw new LayerloomError('USAGE', {
      reason: `${first} and ${second} stand for different work; give one of them`,
    });
  if (inPlace && options.print)
    throw new LayerloomError('USAGE', {
      reason: '--print gives commands for directories, which merges that are scored --in-place have not',
    });
  const part = options.part === undefined ? undefined : toPart('part', options.part);
  const given = { lmEval, only, part, jobs, limit };
  if (options.print) {
    const commands = await evaluationCommands(directory, { ...given, force });
    if (json) printJson({ commands } satisfies EvaluationCommands);
    else if (commands.length > 0) printText(commands.map(({ command }) => command).join('\n'));
    else if (!quiet) note('every model that is there has its results');
    return;
  }
  if (options.import !== undefined) return await importCommand(options.import, options);
  if (options.dryRun) return await dryRun({ ...given, force, inPlace, separate }, options);
  const display = new StatusLine(process.stderr);
  const outcome = await interruptible((signal) =>
    evaluateExperiment(directory, {
      ...given,
      resume,
      force,
      inPlace,
      separate,
      download,
      allowServe,
      expect,
      signal,
      onImpossible: (task, { message }) => {
        if (!quiet) warn(`${task}: ${message}`);
      },
      onProgress: (progress) => {
        if (quiet) return;
        if (json) printEvent('progress', progress);
        else display.show(describeScoring(progress), `${progress.done} ${progress.running.join(' ')}`);
      },
      onScored: ({ results, ...outcome }) => {
        if (json)
          printEvent('model', {
            ...outcome,
            results: results.map(({ file, result: { task, metrics } }) => ({ file, task, metrics })),
          });
      },
    }),
  ).finally(() => display.end());
  if (!quiet) outcome.warnings.forEach(warn);
  const next = nextOf(directory, outcome);
  if (json) {
    const { experiment: _experiment, ...rest } = outcome;
    const done = { ...rest, ...(next === undefined ? {} : { next }) };
    printEvent('done', done satisfies Omit<EvaluationDone, 'event'>);
  } else if (!quiet) {
    printLine(describeEvaluation(outcome));
    printNext(next);
  }
  const failed = failedModels(outcome.failed);
  if (failed.length > 0)
    throw new LayerloomError('EVALUATION_INCOMPLETE', {
      directory,
      failed,
      scores: outcome.results.made + outcome.results.there,
    });
};

/**
 * The next command: for checkpoints alone the selection, for merges the report; undefined if scores are
 * missing.
 */
const nextOf = (
  directory: string,
  { results, failed, missing, experiment }: EvaluationOutcome,
): string | undefined => {
  if (results.made + results.there === 0 || failed.length + missing.length > 0) return undefined;
  return experiment.merges.length === 0
    ? layerloomCommand('select', '--scores', argument(directory), '-o', 'selection.json')
    : layerloomCommand(
        'report',
        argument(directory),
        '-o',
        argument(`${directory.replace(/\/+$/, '')}.html`),
      );
};

const dryRun = async (
  given: EvaluateOptions,
  { directory, json, quiet }: EvaluateCommandOptions,
): Promise<void> => {
  const plan = await interruptible((signal) => planEvaluation(directory, { ...given, signal }));
  show(plan, { json, quiet }, (found) => describeEvaluationPlan(found, directory));
  const failed = [...plan.impossible.map(({ task, message }) => ({ model: task, message })), ...plan.failed];
  if (failed.length > 0)
    throw new LayerloomError('EVALUATION_INCOMPLETE', { directory, failed, scores: plan.there });
};

const importCommand = async (
  from: string,
  { directory, json, quiet }: EvaluateCommandOptions,
): Promise<void> => {
  const outcome = await importResults(directory, from);
  const { experiment: _experiment, ...rest } = outcome;
  if (!quiet) outcome.warnings.forEach(warn);
  if (json) printJson(rest satisfies Imported);
  else if (!quiet) printLine(describeImport(outcome));
  if (outcome.failed.length > 0)
    throw new LayerloomError('EVALUATION_INCOMPLETE', {
      directory,
      failed: outcome.failed.map(({ file, message }) => ({ model: file, message })),
      scores: outcome.imported.length,
    });
};
