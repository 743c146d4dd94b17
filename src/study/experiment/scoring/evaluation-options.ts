import { join } from 'node:path';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { matches } from '../../../core/methods/framework/match-names.js';
import { checkPart, type Part } from '../../batch/planning/part.js';
import { rowsToScore } from '../../evaluation/rows.js';
import { type EvaluationSettings, parseEvaluation } from '../../evaluation/settings.js';
import type { ExperimentRecord, ScoreError } from '../record/experiment-record.js';
import type { ModelToScore } from './requests/models-to-score.js';
import type { RunningRequests } from './requests/time-left.js';
import type { ScoringOutcome } from './score-model.js';

/** Options of `evaluateExperiment`. */
export interface EvaluateOptions {
  /** Harness's command for the shell; default `lm_eval`. */
  readonly lmEval?: string | undefined;
  /** Patterns of model names; `*` stands for any text. */
  readonly only?: readonly string[] | undefined;
  /** Score only part `index` of `count` of the models. Several processes divide models without it. */
  readonly part?: Part | undefined;
  /** Number of models scored at once; default as in `evaluate:`. */
  readonly jobs?: number | undefined;
  /** Rows of every task, within `problems`: the first `limit` rows, or a range, end exclusive. */
  readonly limit?: number | undefined;
  readonly rows?: readonly [from: number, to: number] | undefined;
  /** Only these tasks of `evaluate:`. */
  readonly tasks?: readonly string[] | undefined;
  /** Start a harness process for each run; default false. */
  readonly separate?: boolean | undefined;
  /** Also score unwritten merges, without writing them; default false. */
  readonly inPlace?: boolean | undefined;
  /** Continue from the answers of interrupted runs. */
  readonly resume?: boolean | undefined;
  /** Score again even if there are results. */
  readonly force?: boolean | undefined;
  /** Download references from the hub as whole models; default false, which sends no requests. */
  readonly download?: boolean | undefined;
  /** Run commands in `evaluate:` (`serve`, `arguments`) of a folder of unknown origin; default false. */
  readonly allowServe?: boolean | undefined;
  /** Stamp from `planExperiment`. Refuses the run if layerloom's version or the experiment has changed. */
  readonly expect?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Called before the first model for each task that cannot be run. */
  readonly onImpossible?: ((task: string, error: ScoreError) => void) | undefined;
  /** Called when a model begins or ends, and when requests finish. */
  readonly onProgress?: ((progress: EvaluationProgress) => void) | undefined;
  /** Called with the outcome of each model. */
  readonly onScored?: ((outcome: ScoringOutcome) => void) | undefined;
}

/** Progress of an evaluation. */
export interface EvaluationProgress {
  /** Number of finished models, including failed models and models of earlier runs. */
  readonly done: number;
  readonly failed: number;
  readonly total: number;
  /** Names of models in progress. */
  readonly running: readonly string[];
  /** Merges that a batch may still make. */
  readonly waiting: number;
  /** Requests, as shown by the harness's progress bars. */
  readonly requests: readonly RunningRequests[];
  /** Estimated seconds, from results and requests; null if unknown. */
  readonly secondsLeft: number | null;
}

/** @throws INVALID_PARAMETER */
export const checkCounts = (counts: Pick<EvaluateOptions, 'limit' | 'jobs'>): void => {
  for (const [parameter, count] of Object.entries(counts))
    if (count !== undefined && !(Number.isSafeInteger(count) && count >= 1))
      throw invalidParameter(parameter, count, 'a whole number, 1 or more');
};

/** @throws EXPERIMENT_INVALID without `evaluate:`; INVALID_PARAMETER for rows outside the range */
export const settingsOf = (
  { evaluate }: { readonly evaluate?: ExperimentRecord['evaluate'] | undefined },
  directory: string,
  { limit, rows, tasks, jobs }: Pick<EvaluateOptions, 'limit' | 'rows' | 'tasks' | 'jobs'> = {},
): EvaluationSettings => {
  checkCounts({ limit, jobs });
  if (evaluate === undefined)
    throw new LayerloomError('EXPERIMENT_INVALID', {
      file: join(directory, 'experiment.json'),
      reason: `has no evaluate: block; add one to the experiment's file and run \`${layerloomCommand('batch', 'EXPERIMENT.yaml', '-o', argument(directory), '--resume')}\``,
    });
  const parsed = parseEvaluation(evaluate, directory);
  const settings = { ...parsed, jobs: jobs ?? parsed.jobs };
  const { exchange, baseUrls } = settings;
  if (exchange !== undefined && baseUrls.length > 0 && settings.jobs > baseUrls.length)
    throw invalidParameter(
      'jobs',
      settings.jobs,
      `at most ${baseUrls.length}: each server of base_url holds one model at a time`,
    );
  const wanted = new Map(
    [...settings.tasks].map(([language, of]) => [
      language,
      of.filter((task) => tasks?.includes(task) ?? true),
    ]),
  );
  const rowsOf = (task: string) =>
    rowsToScore(task, settings.rangeOf(task), settings.rowsOf(task), { limit, rows });
  for (const task of [...wanted.values()].flat()) rowsOf(task);
  return { ...settings, rowsOf, tasks: wanted };
};

/** @throws INVALID_PARAMETER if no name matches */
export const selectModels = (
  models: readonly ModelToScore[],
  { only, part }: Pick<EvaluateOptions, 'only' | 'part'>,
): ModelToScore[] => {
  if (part !== undefined) checkPart(part);
  const isNamed = ({ name }: ModelToScore) =>
    only === undefined || only.some((pattern) => matches(name, pattern));
  if (models.length > 0 && !models.some(isNamed))
    throw invalidParameter(
      'only',
      only?.join(' '),
      `names of models; * stands for any text, as in ${models[0]?.name} or ${models.at(-1)?.name}`,
    );
  return models.filter(
    (model, index) => isNamed(model) && (part === undefined || index % part.count === part.index),
  );
};

export const inTurn = <T>(items: readonly T[], number: number): T | undefined => items[number % items.length];
