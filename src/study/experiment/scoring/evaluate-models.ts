import { basename, resolve } from 'node:path';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { splitName } from '../../../core/models/address/name.js';
import { hasRecord } from '../../batch/planning/record-names.js';
import { type BenchmarkName, benchmarks, tasksOf as tasksIn } from '../../evaluation/data/benchmarks.js';
import { type EvaluationLanguage, languages as known } from '../../evaluation/data/local/languages.js';
import type { Evaluation } from '../../evaluation/evaluation-block.js';
import { checkHarness, harnessCommand } from '../../evaluation/harness/harness-command.js';
import type { ExperimentInput } from '../file/blocks/experiment-block.js';
import { absoluteModel, nameOfModel } from '../file/blocks/models.js';
import { folded } from '../file/blocks/names.js';
import { parseExperiment } from '../file/read-experiment.js';
import { experimentReferences } from '../file/references.js';
import { type ExperimentRecord, readRecord } from '../record/experiment-record.js';
import { runExperiment } from '../run-experiment.js';
import { type EvaluationOutcome, evaluateExperiment } from './evaluate-experiment.js';
import { evaluationCommands } from './evaluation-commands.js';
import { checkCounts, type EvaluateOptions, settingsOf } from './evaluation-options.js';
import { type EvaluationPlan, planEvaluation } from './plan-evaluation.js';
import { pathOf } from './requests/models-to-score.js';
import { usualScores } from './usual-scores.js';

/** Options of `evaluateModels`. */
export interface EvaluateModelsOptions extends Omit<EvaluateOptions, 'only' | 'part' | 'inPlace' | 'expect'> {
  /** Directory for results, made if needed; default `scores`. */
  readonly out?: string | undefined;
  /** Benchmarks to measure in each of `languages`; may be combined with `tasks`. */
  readonly benchmarks?: readonly BenchmarkName[] | undefined;
  /** Languages of the benchmarks, in lower case: `swahili`. Default: English. */
  readonly languages?: readonly string[] | undefined;
  /** Other settings of `evaluate:`, such as `{ fewshot: 8, device: 'cuda' }`. */
  readonly settings?: Omit<Evaluation, 'tasks' | 'limit'> | undefined;
}

/** Key for tasks that were named without a language. */
const ownTasks = 'tasks';

/**
 * Scores models without an experiment: merges, other checkpoints, `BASE+ADAPTER`. `out` becomes an experiment
 * without merges, for tables, reports and `importResults`. Later calls add models and tasks and keep results.
 *
 * @example await evaluateModels(['./base', './merged'], { benchmarks: ['mgsm'], languages: ['swahili'] })
 * @param models as in recipes: a path, `org/name`, `BASE+ADAPTER`, `NAME=MODEL`
 * @throws MODEL_NOT_FOUND, unless `download`; INVALID_PARAMETER without a task, for an unknown language, for
 * two models with the same name, and if `out` is an experiment with merges; the codes of `runExperiment` and
 * `evaluateExperiment`
 */
export const evaluateModels = async (
  models: readonly string[],
  options: EvaluateModelsOptions,
): Promise<EvaluationOutcome> => {
  const { directory, input, isThere, scoring } = await described(models, options);
  checkHarness(harnessCommand(options.lmEval));
  const { warnings } = await runExperiment(input, { out: directory, resume: isThere });
  const outcome = await evaluateExperiment(directory, scoring);
  return { ...outcome, warnings: [...new Set([...warnings, ...outcome.warnings])] };
};

/**
 * Plans `evaluateModels`; writes nothing.
 *
 * @throws as `evaluateModels` and `planEvaluation`
 */
export const planModels = async (
  models: readonly string[],
  options: EvaluateModelsOptions,
): Promise<EvaluationPlan> => {
  const { directory, experiment, scoring } = await described(models, options);
  return await planEvaluation(directory, scoring, {
    references: experimentReferences(experiment),
    merges: [],
    evaluate: experiment.evaluate,
  });
};

/**
 * Returns the commands of `evaluateModels`. Writes their task files, and the experiment for `importResults`.
 *
 * @throws as `evaluateModels`
 */
export const modelsCommands = async (
  models: readonly string[],
  options: EvaluateModelsOptions,
): ReturnType<typeof evaluationCommands> => {
  const { directory, input, isThere, scoring } = await described(models, options);
  await runExperiment(input, { out: directory, resume: isThere });
  return await evaluationCommands(directory, scoring);
};

const described = async (
  models: readonly string[],
  {
    out = usualScores,
    benchmarks: names,
    languages,
    settings,
    limit,
    tasks,
    ...options
  }: EvaluateModelsOptions,
) => {
  checkCounts({ limit, jobs: options.jobs });
  const directory = resolve(out);
  const measured = tasksOf({ tasks, benchmarks: names, languages });
  const given = await named(models);
  // Checks models first, so that a refused call leaves nothing behind.
  if (options.download !== true)
    for (const model of Object.values(given)) await pathOf({ kind: 'reference', model });
  const former = (await hasRecord(directory)) ? await formerOf(directory) : undefined;
  const input: ExperimentInput = {
    references: { ...former?.models, ...given },
    merges: [],
    evaluate: {
      ...settings,
      ...(limit === undefined ? {} : { limit }),
      tasks: unionOf(former?.tasks ?? {}, measured),
    },
  };
  const experiment = await parseExperiment(input);
  const scoring = { ...options, only: Object.keys(given), tasks: Object.values(measured).flat() };
  // Reports faults in settings before faults of the harness.
  settingsOf(experiment, directory, scoring);
  return { directory, experiment, input, isThere: former !== undefined, scoring };
};

type Tasks = Readonly<Record<string, readonly string[]>>;

const unionOf = (former: Tasks, more: Tasks): Record<string, string[]> =>
  Object.fromEntries(
    [...new Set([...Object.keys(former), ...Object.keys(more)])].map((key) => [
      key,
      [...new Set([...(former[key] ?? []), ...(more[key] ?? [])])],
    ]),
  );

const tasksOf = ({
  tasks = [],
  benchmarks: names = [],
  languages = ['english'],
}: Pick<EvaluateModelsOptions, 'tasks' | 'benchmarks' | 'languages'>): Tasks => {
  const measured: Record<string, string[]> = {};
  if (tasks.length > 0) measured[ownTasks] = [...new Set(tasks)];
  if (names.length > 0)
    for (const language of languages.map(languageNamed)) {
      const own = names.flatMap((name) => tasksIn(benchmarks[name], language));
      if (own.length > 0) measured[language.name] = own;
    }
  if (Object.keys(measured).length > 0) return measured;
  throw names.length === 0
    ? invalidParameter('tasks', undefined, 'at least one task of the harness, or a benchmark')
    : invalidParameter(
        'benchmarks',
        names,
        `a benchmark that has ${languages.join(' or ')}; \`${layerloomCommand('tasks')}\` lists them`,
      );
};

const languageNamed = (given: string): EvaluationLanguage => {
  const found = known.find(({ name, code }) => name === given.toLowerCase() || code === given);
  if (found === undefined)
    throw invalidParameter('languages', given, known.map(({ name }) => name).join(', '));
  return found;
};

/** Returns models by name: NAME of `NAME=MODEL`, else the last part of the path or of `org/name`. */
const named = async (models: readonly string[]): Promise<Record<string, string>> => {
  if (models.length === 0) throw invalidParameter('models', models, 'one model or several');
  const found = new Map<string, readonly [name: string, model: string]>();
  for (const given of models) {
    const model = await absoluteModel(process.cwd(), given);
    const { rest } = splitName(model);
    const own = basename(nameOfModel(model));
    const former = found.get(folded(own));
    if (former !== undefined && former[1] !== rest)
      throw invalidParameter(
        'models',
        given,
        `different names, given as NAME=MODEL: ${former[1]} is also named ${own}`,
      );
    found.set(folded(own), [own, rest]);
  }
  return Object.fromEntries(found.values());
};

/** @throws INVALID_PARAMETER for an experiment with merges or experts */
const formerOf = async (directory: string): Promise<{ models: Record<string, string>; tasks: Tasks }> => {
  const { references, merges, base, evaluate }: ExperimentRecord = await readRecord(directory);
  const isAlone =
    merges.length === 0 && base === null && references.every(({ role }) => role === 'checkpoint');
  if (!isAlone)
    throw invalidParameter(
      'out',
      directory,
      `a new directory, or one that only has scores of models: this is an experiment, whose models \`${layerloomCommand('evaluate', argument(directory))}\` scores`,
    );
  const tasks = Object.entries((evaluate?.tasks ?? {}) as Record<string, string | readonly string[]>);
  return {
    models: Object.fromEntries(references.map(({ name, model }) => [name, splitName(model).rest])),
    tasks: Object.fromEntries(tasks.map(([key, of]) => [key, [of].flat()])),
  };
};
