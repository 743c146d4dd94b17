import { resolve } from 'node:path';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { groupBy, itemAt, valueAt } from '../../../core/base/errors/lookup.js';
import type { BatchPlan } from '../../batch/planning/batch-plan.js';
import { harnessCommand } from '../../evaluation/harness/harness-command.js';
import { exchangesWeights } from '../../evaluation/harness/harness-process.js';
import { paceOf } from '../../evaluation/pace.js';
import { type FoundResult, ResultFiles } from '../../evaluation/result-files.js';
import { ScoredContents } from '../../evaluation/scored-contents.js';
import { type EvaluationSettings, parseEvaluation } from '../../evaluation/settings.js';
import { weightsOfShards } from '../../store/files/weights.js';
import { type ExperimentMerge, expandExperiment } from '../file/expand.js';
import type { Experiment } from '../file/read-experiment.js';
import { experimentReferences } from '../file/references.js';
import type { CostInPlace } from '../in-place/cost-in-place.js';
import {
  type ExperimentRecord,
  formerRecord,
  type MergeRecord,
  readRecord,
  type ScoreError,
} from '../record/experiment-record.js';
import { type EvaluateOptions, selectModels, settingsOf } from './evaluation-options.js';
import { checkInPlace, planInPlace } from './in-place.js';
import { ScoringOrder } from './progress/scoring-order.js';
import { checkExperimentTasks } from './requests/check-tasks.js';
import { lackingIn, type ModelToScore, modelsToScore, weightsOf } from './requests/models-to-score.js';
import { lackingSamples, samplesOf } from './requests/wanted-results.js';

/** Task, and the number of models that lack a result in it. */
export interface PlannedTask {
  readonly task: string;
  /** Number of models without a result; models with equal weights count once. */
  readonly models: number;
  readonly problems: number | null;
  /** Seconds with one model at a time; null if not measured. */
  readonly secondsPerProblem: number | null;
  readonly seconds: number | null;
}

/** Duration of scoring, estimated from results in a directory. */
export interface ScoringTime {
  readonly tasks: readonly PlannedTask[];
  readonly jobs: number;
  /** Seconds with `jobs` models at once; null if a task was not measured. */
  readonly seconds: number | null;
  /** Results measured here. */
  readonly measured: number;
}

export interface OrderedModel {
  readonly name: string;
  /** Index, from 0, of the job that scores the model if all models take equally long. */
  readonly job: number;
  readonly bytes: number | null;
}

export interface WeightsToBeLoaded {
  readonly loaded: number;
  readonly ofModels: number;
  /** Number of models loaded whole, and in part (`exchanged`). */
  readonly whole: number;
  readonly exchanged: number;
}

export interface EvaluationPlan extends ScoringTime {
  readonly directory: string;
  /** Models with unscored tasks, including merges that do not exist yet. */
  readonly models: readonly {
    readonly name: string;
    readonly tasks: readonly string[];
    readonly isThere: boolean;
  }[];
  /** Existing models. Equal weights occur once, unless everything is scored again. */
  readonly order: readonly OrderedModel[];
  /** Weights to load; null if every model is loaded whole. Equal tensors in two files count as different. */
  readonly weights: WeightsToBeLoaded | null;
  /** Number of models with all results (`kept`), and number of results (`there`). */
  readonly kept: number;
  readonly there: number;
  readonly failed: readonly (ScoreError & { readonly model: string })[];
  /** Tasks that cannot be run, and tasks that cannot be checked without the harness. */
  readonly impossible: readonly (ScoreError & { readonly task: string })[];
  readonly unchecked: readonly string[];
  readonly inPlace: CostInPlace | null;
}

type PlannedRecord = Pick<ExperimentRecord, 'references' | 'merges' | 'first'> & {
  readonly evaluate?: ExperimentRecord['evaluate'] | undefined;
};

/** @param models each has a task once for every answer to its problems */
export const scoringTime = (
  models: readonly Pick<ModelToScore, 'tasks'>[],
  settings: EvaluationSettings,
  found: readonly FoundResult[],
): ScoringTime => {
  const pace = paceOf(found.map(({ result }) => result));
  const { jobs } = settings;
  const names = [...new Set(models.flatMap(({ tasks }) => tasks))];
  const tasks = names.map((task): PlannedTask => {
    const count = models.filter((model) => model.tasks.includes(task)).length;
    const runs = models.flatMap((model) => model.tasks.filter((own) => own === task)).length;
    const [problems, seconds] = [
      pace.problemsIn(task, settings.rowsOf(task)),
      pace.secondsOf(task, settings.rowsOf(task)),
    ];
    return {
      task,
      models: count,
      problems: problems === undefined ? null : problems * runs,
      secondsPerProblem: pace.secondsPerProblem(task) ?? null,
      seconds: seconds === undefined ? null : seconds * runs,
    };
  });
  const known = tasks.flatMap(({ seconds }) => (seconds === null ? [] : [seconds]));
  const atOnce = Math.max(1, Math.min(jobs, models.length));
  return {
    tasks,
    jobs,
    seconds: known.length < tasks.length ? null : known.reduce((sum, each) => sum + each, 0) / atOnce,
    measured: pace.results,
  };
};

/**
 * Plans `evaluateExperiment`: models and tasks without results, and their duration.
 *
 * @param given instead of the record in the directory
 * @throws EXPERIMENT_MISSING, EXPERIMENT_INVALID, RECIPE_INVALID, INVALID_PARAMETER, INTERRUPTED
 */
export const planEvaluation = async (
  directory: string,
  options: EvaluateOptions = {},
  given?: PlannedRecord,
): Promise<EvaluationPlan> => {
  const place = resolve(directory);
  const record: PlannedRecord = given ?? (await readRecord(place));
  const settings = settingsOf(record, place, options);
  // Earlier evaluations of single models may have scored other tasks.
  const wanted = [...settings.tasks].filter(([, of]) => of.length > 0).map(([key, of]) => [key, [...of]]);
  const evaluate = { ...record.evaluate, tasks: Object.fromEntries(wanted) as Record<string, string[]> };
  const { failed: faults, unchecked } = await checkExperimentTasks(
    { evaluate },
    options.signal,
    options.lmEval,
  );
  const all = await new ResultFiles(place).list();
  const found = groupBy(all, ({ result }) => result.weights);
  const failed: EvaluationPlan['failed'][number][] = [];
  const models: EvaluationPlan['models'][number][] = [];
  const there: WeighedModel[] = [];
  const scored: Pick<ModelToScore, 'tasks'>[] = [];
  const counted = new OncePerWeights(options.force ?? false);
  let [kept, have] = [0, 0];
  if (options.inPlace) checkInPlace(settings, options.separate ?? false, place);
  const notWritten = new Map<string, string | undefined>();
  const contents = ScoredContents.of(place);
  const recorded = new Map(record.merges.map(({ name, weights }) => [name, weights]));
  for (const model of selectModels(modelsToScore(record, settings, place), options)) {
    const written = await weightsOrFault(model, contents);
    if (written === undefined && options.inPlace) notWritten.set(model.name, recorded.get(model.name));
    const weights = written ?? notWritten.get(model.name);
    if (weights instanceof LayerloomError) {
      failed.push({ model: model.name, code: weights.code, message: weights.message });
      continue;
    }
    const results = options.force || weights === undefined ? [] : (found.get(weights) ?? []);
    const samples = model.tasks.flatMap((task) => samplesOf(task, settings));
    const lackingNow = model.tasks.flatMap((task) => lackingSamples(results, weights ?? '', task, settings));
    const lacking = [...new Set(lackingNow.map(({ task }) => task))];
    const tasks = lacking.filter((task) => !faults.has(task));
    have += samples.length - lackingNow.length;
    if (lacking.length === 0) kept += 1;
    else if (tasks.length > 0) {
      models.push({ name: model.name, tasks, isThere: weights !== undefined });
      const own = weights === undefined ? tasks : counted.lacking(weights, tasks);
      scored.push({ tasks: lackingNow.map(({ task }) => task).filter((task) => own.includes(task)) });
      if (weights !== undefined) there.push({ ...model, tasks, weights });
    }
  }
  const { jobs } = settings;
  const isExchanging = await exchangesWeights(settings, harnessCommand(options.lmEval), options.separate);
  const toMake = models.flatMap(({ name }) => (notWritten.has(name) ? [name] : []));
  const inPlace = options.inPlace
    ? await planInPlace(await readRecord(place), new Set(toMake), place)
    : undefined;
  const order = new ScoringOrder(record, isExchanging, inPlace?.contents);
  return {
    directory: place,
    models,
    ...(await ordered(there, order, { ...options, jobs })),
    kept,
    there: have,
    failed,
    impossible: [...faults].map(([task, { code, message }]) => ({ task, code, message })),
    unchecked,
    inPlace: inPlace?.cost ?? null,
    ...scoringTime(
      scored.filter(({ tasks }) => tasks.length > 0),
      settings,
      all,
    ),
  };
};

/** Counts a task once for models with equal weights, unless everything is scored again. */
class OncePerWeights {
  readonly #force: boolean;
  readonly #scored = new Set<string>();

  constructor(force: boolean) {
    this.#force = force;
  }

  lacking(weights: string, tasks: readonly string[]): string[] {
    const lacking = tasks.filter((task) => this.#force || !this.#scored.has(`${weights} ${task}`));
    for (const task of tasks) this.#scored.add(`${weights} ${task}`);
    return lacking;
  }
}

interface WeighedModel extends ModelToScore {
  readonly weights: string;
}

/** Assigns models to lanes; a model's time is its number of tasks. */
const ordered = async (
  models: readonly WeighedModel[],
  order: ScoringOrder,
  { jobs, force }: { readonly jobs: number; readonly force?: boolean | undefined },
): Promise<Pick<EvaluationPlan, 'order' | 'weights'>> => {
  await order.learn(models);
  const taken: OrderedModel[] = [];
  const weights = { loaded: 0, ofModels: 0, whole: 0, exchanged: 0 };
  const scored = new OncePerWeights(force ?? false);
  const busy = Array.from({ length: jobs }, () => 0);
  const left = new Map(models.map((model) => [model.name, model]));
  let urgent: ModelToScore[] = [];
  while (left.size > 0) {
    if (urgent.length === 0) urgent = order.mostUrgent([...left.values()]);
    const job = busy.indexOf(Math.min(...busy));
    const next = order.take(job, urgent);
    if (next === undefined) throw new RangeError('of some models one is the next');
    const { model, load } = next;
    const lacking = scored.lacking(valueAt(left, model.name).weights, model.tasks);
    left.delete(model.name);
    urgent.splice(urgent.indexOf(model), 1);
    if (lacking.length === 0) {
      // Another model with equal weights already has this model's results.
      order.putBack(job);
      continue;
    }
    busy[job] = itemAt(busy, job) + model.tasks.length;
    taken.push({ name: model.name, job, bytes: load?.bytes ?? null });
    weights.loaded += load?.bytes ?? 0;
    weights.ofModels += load?.ofBytes ?? 0;
    if (load !== undefined) weights[load.isWhole ? 'whole' : 'exchanged'] += 1;
  }
  return { order: taken, weights: order.isExchanging ? weights : null };
};

/**
 * Estimates the time to score an experiment's models, from results in its directory. Skips scored models,
 * unless the plan changes their weights.
 *
 * @returns null for an experiment without tasks
 */
export const scoringOf = async (
  experiment: Experiment,
  out = '.',
  plan: Pick<BatchPlan<ExperimentMerge>, 'merges'> = { merges: [] },
): Promise<ScoringTime | null> => {
  const { evaluate } = experiment;
  if (evaluate?.tasks === undefined) return null;
  const place = resolve(out);
  const settings = parseEvaluation(evaluate, place);
  const models = modelsToScore(
    { merges: expandExperiment(experiment), references: experimentReferences(experiment) },
    settings,
    place,
  );
  const record = await formerRecord(place);
  const planned = new Map(plan.merges.map((merge) => [merge.merge.name, merge]));
  const isAsRecorded = ({ name, weights, basis }: MergeRecord): boolean => {
    const merge = planned.get(name);
    if (merge === undefined) return false;
    return merge.basis === undefined
      ? weightsOfShards(merge.shards.map(({ key }) => key)) === weights
      : merge.basis === basis;
  };
  const known = {
    references: record?.references ?? [],
    merges: record?.merges.filter(isAsRecorded) ?? [],
  };
  const lacking = lackingIn(known, models, settings).filter(({ tasks }) => tasks.length > 0);
  return scoringTime(lacking, settings, await new ResultFiles(place).list());
};

const weightsOrFault = (
  model: ModelToScore,
  contents: ScoredContents,
): Promise<string | undefined | LayerloomError> =>
  weightsOf(model, contents, false).catch((error: unknown) => {
    if (error instanceof LayerloomError) return error;
    throw error;
  });
