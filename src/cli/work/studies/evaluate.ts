import { formatTables } from '../../../api/format-tables.js';
import { scoreTables } from '../../../api/score-tables.js';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { nearest } from '../../../core/base/nearest.js';
import { snakeCase } from '../../../core/methods/framework/tensors/tensor-method.js';
import { TextRefused } from '../../../core/texts/text-refused.js';
import { yamlValue } from '../../../core/texts/yaml.js';
import { hasRecord } from '../../../study/batch/planning/record-names.js';
import { evaluationSchema } from '../../../study/evaluation/evaluation-block.js';
import {
  type EvaluationOutcome,
  evaluateExperiment,
} from '../../../study/experiment/scoring/evaluate-experiment.js';
import {
  type EvaluateModelsOptions,
  evaluateModels,
  modelsCommands,
  planModels,
} from '../../../study/experiment/scoring/evaluate-models.js';
import { evaluationCommands } from '../../../study/experiment/scoring/evaluation-commands.js';
import type { EvaluateOptions } from '../../../study/experiment/scoring/evaluation-options.js';
import { importResults } from '../../../study/experiment/scoring/import-results.js';
import { type EvaluationPlan, planEvaluation } from '../../../study/experiment/scoring/plan-evaluation.js';
import { usualScores } from '../../../study/experiment/scoring/usual-scores.js';
import type { OutputOptions } from '../../options/output.js';
import { toPart } from '../../options/parse.js';
import { note, printEvent, printJson, printLine, printNext, printText, warn } from '../../print.js';
import type { EvaluationCommands, EvaluationDone, Imported } from '../../printed.js';
import {
  describeEvaluation,
  describeEvaluationPlan,
  describeImport,
  describeScoring,
  failedModels,
} from '../../text/studies/evaluation-text.js';
import { interruptible } from '../running/interrupt.js';
import { show } from '../running/show.js';
import { StatusLine } from '../running/status-line.js';

export interface EvaluateCommandOptions
  extends OutputOptions,
    Omit<EvaluateOptions, 'part' | 'rows' | 'signal' | 'onImpossible' | 'onProgress' | 'onScored'>,
    Pick<EvaluateModelsOptions, 'benchmarks' | 'languages' | 'out'> {
  readonly models: readonly string[];
  readonly set?: readonly string[];
  readonly part?: string;
  readonly print?: boolean;
  readonly dryRun?: boolean;
  readonly import?: string;
}

const ofModels = {
  '--tasks': 'tasks',
  '--benchmarks': 'benchmarks',
  '--lang': 'languages',
  '--set': 'set',
  '--out': 'out',
} as const;

const ofExperiments = {
  '--only': 'only',
  '--part': 'part',
  '--expect': 'expect',
  '--in-place': 'inPlace',
  '--import': 'import',
} as const;

const givenOf = (
  options: EvaluateCommandOptions,
  names: Readonly<Record<string, keyof EvaluateCommandOptions>>,
) => Object.entries(names).find(([, key]) => options[key] !== undefined)?.[0];

/** @throws USAGE for two options that prevent runs */
const checkWork = ({ print, dryRun, import: imported }: EvaluateCommandOptions): void => {
  const [first, second] = Object.entries({
    '--print': print,
    '--dry-run': dryRun,
    '--import': imported,
  }).flatMap(([name, isGiven]) => (isGiven ? [name] : []));
  if (second !== undefined)
    throw new LayerloomError('USAGE', {
      reason: `${first} and ${second} stand for different work; give one of them`,
    });
};

/** @throws USAGE for options that do not suit the arguments */
export const evaluateCommand = async (options: EvaluateCommandOptions): Promise<void> => {
  const { models } = options;
  checkWork(options);
  const [ofModel, ofExperiment] = [givenOf(options, ofModels), givenOf(options, ofExperiments)];
  const refuse = (reason: string): never => {
    throw new LayerloomError('USAGE', { reason });
  };
  const [only = ''] = models;
  const experiments = await Promise.all(models.map(hasRecord));
  const experiment = models[experiments.indexOf(true)];
  if (experiment === undefined) {
    if (ofModel === undefined && models.length === 1) return await experimentCommand(only, options);
    if (ofModel !== undefined && ofExperiment !== undefined)
      refuse(`${ofExperiment} is for experiments; ${models.join(', ')}: no experiment.json is there`);
    return await modelsCommand(options);
  }
  if (models.length > 1) refuse(`${experiment} is an experiment: evaluate it by itself, or name models`);
  if (ofModel !== undefined)
    refuse(
      `${ofModel} is for models, and ${experiment} is an experiment, whose evaluate: block says what to measure`,
    );
  await experimentCommand(experiment, options);
};

const experimentCommand = async (directory: string, options: EvaluateCommandOptions): Promise<void> => {
  const { lmEval, only, jobs, limit, force, inPlace, separate, expect } = options;
  if (inPlace && options.print)
    throw new LayerloomError('USAGE', {
      reason: '--print gives commands for directories, which merges that are scored --in-place have not',
    });
  const part = options.part === undefined ? undefined : toPart('part', options.part);
  const given = { lmEval, only, part, jobs, limit };
  if (options.print) return showCommands(await evaluationCommands(directory, { ...given, force }), options);
  if (options.import !== undefined) return await importCommand(directory, options.import, options);
  if (options.dryRun)
    return await dryRun(
      (signal) => planEvaluation(directory, { ...given, force, inPlace, separate, signal }),
      (plan) => describeEvaluationPlan(plan, directory),
      options,
    );
  const outcome = await scored(options, (watched) =>
    evaluateExperiment(directory, { ...given, ...watched, inPlace, expect }),
  );
  ended(outcome, nextOf(directory, outcome), describeEvaluation(outcome), options);
};

const modelsCommand = async (options: EvaluateCommandOptions): Promise<void> => {
  const { models, tasks, benchmarks, languages, set = [], out, limit, jobs, lmEval } = options;
  const { force, separate, download } = options;
  const given = { tasks, benchmarks, languages, settings: settingsIn(set), out, limit, jobs, lmEval };
  if (options.print)
    return showCommands(await modelsCommands(models, { ...given, force, download }), options);
  if (options.dryRun)
    return await dryRun(
      (signal) => planModels(models, { ...given, force, separate, download, signal }),
      (plan) => describeEvaluationPlan(plan),
      options,
    );
  const outcome = await scored(options, (watched) => evaluateModels(models, { ...watched, ...given }));
  const directory = out ?? usualScores;
  const { tables } = await scoreTables(directory, { tables: ['models', 'comparisons'] });
  const text = [
    formatTables(tables.toReversed(), 'text', process.stdout.columns),
    describeEvaluation({ ...outcome, scored: [], kept: [] }),
  ].join('\n\n');
  ended(outcome, reportOf(directory, outcome), text, options);
};

const settingNames = Object.keys(evaluationSchema.shape).map(snakeCase);

/** Reads `KEY=VALUE` with a YAML value: `8`, `cuda`, `[0, 1]`, `{dtype: bfloat16}`. */
const settingsIn = (texts: readonly string[]): Record<string, unknown> => {
  const settings = new Map<string, unknown>();
  for (const text of texts) {
    const [, key, value] = /^([a-z_]{1,40})=(.*)$/s.exec(text) ?? [];
    if (key === undefined || value === undefined)
      throw new LayerloomError('USAGE', { reason: `${text}: expected KEY=VALUE` });
    if (!settingNames.includes(key)) {
      const near = nearest(key, settingNames);
      throw new LayerloomError('USAGE', {
        reason: `--set ${text}: no such setting${near === undefined ? `; expected one of ${settingNames.join(', ')}` : `; did you mean ${near}?`}`,
      });
    }
    if (settings.has(key)) throw new LayerloomError('USAGE', { reason: `${key} is set twice` });
    try {
      settings.set(key, yamlValue(value, 'none'));
    } catch (cause) {
      if (!(cause instanceof TextRefused)) throw cause;
      throw new LayerloomError(
        'USAGE',
        { reason: `${text}: the value is no YAML (${cause.message})` },
        { cause },
      );
    }
  }
  return Object.fromEntries(settings);
};

const scored = async (
  { resume, force, separate, download, allowServe, json, quiet }: EvaluateCommandOptions,
  work: (options: EvaluateOptions) => Promise<EvaluationOutcome>,
): Promise<EvaluationOutcome> => {
  const display = new StatusLine(process.stderr);
  return await interruptible((signal) =>
    work({
      ...{ resume, force, separate, download, allowServe, signal },
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
};

/** @throws EVALUATION_INCOMPLETE, after the outcome, if a model has no score */
const ended = (
  outcome: EvaluationOutcome,
  next: string | undefined,
  text: string,
  { json, quiet }: EvaluateCommandOptions,
): void => {
  if (!quiet) outcome.warnings.forEach(warn);
  if (json) {
    const { experiment: _experiment, ...rest } = outcome;
    const done = { ...rest, ...(next === undefined ? {} : { next }) };
    printEvent('done', done satisfies Omit<EvaluationDone, 'event'>);
  } else if (!quiet) {
    printLine(text);
    printNext(next);
  }
  const failed = failedModels(outcome.failed);
  if (failed.length > 0)
    throw new LayerloomError('EVALUATION_INCOMPLETE', {
      directory: outcome.directory,
      failed,
      scores: outcome.results.made + outcome.results.there,
    });
};

/** Suggests selection for checkpoints alone, and the report for merges; undefined if scores are missing. */
const nextOf = (directory: string, outcome: EvaluationOutcome): string | undefined =>
  hasAll(outcome) && outcome.experiment.merges.length === 0
    ? layerloomCommand('select', '--scores', argument(directory), '-o', 'selection.json')
    : reportOf(directory, outcome);

const hasAll = ({ results, failed, missing }: EvaluationOutcome): boolean =>
  results.made + results.there > 0 && failed.length + missing.length === 0;

const reportOf = (directory: string, outcome: EvaluationOutcome): string | undefined =>
  hasAll(outcome)
    ? layerloomCommand('report', argument(directory), '-o', argument(`${directory.replace(/\/+$/, '')}.html`))
    : undefined;

const showCommands = (
  commands: EvaluationCommands['commands'],
  { json, quiet }: EvaluateCommandOptions,
): void => {
  if (json) printJson({ commands } satisfies EvaluationCommands);
  else if (commands.length > 0) printText(commands.map(({ command }) => command).join('\n'));
  else if (!quiet) note('every model that is there has its results');
};

const dryRun = async (
  planned: (signal: AbortSignal) => Promise<EvaluationPlan>,
  describe: (plan: EvaluationPlan) => string,
  { json, quiet }: EvaluateCommandOptions,
): Promise<void> => {
  const plan = await interruptible(planned);
  show(plan, { json, quiet }, describe);
  const failed = [...plan.impossible.map(({ task, message }) => ({ model: task, message })), ...plan.failed];
  if (failed.length > 0)
    throw new LayerloomError('EVALUATION_INCOMPLETE', {
      directory: plan.directory,
      failed,
      scores: plan.there,
    });
};

const importCommand = async (
  directory: string,
  from: string,
  { json, quiet }: EvaluateCommandOptions,
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
