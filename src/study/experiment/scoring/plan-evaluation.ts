import { resolve } from 'node:path';
import { LayerloomError } from '../../../core/base/errors.js';
import { itemAt, valueAt } from '../../../core/base/lookup.js';
import type { BatchPlan } from '../../batch/batch-plan.js';
import { harnessCommand } from '../../evaluation/harness/harness-command.js';
import { exchangesWeights } from '../../evaluation/harness/kept-harness.js';
import { paceOf } from '../../evaluation/pace.js';
import { type FoundResult, ResultFiles } from '../../evaluation/result-files.js';
import { ScoredContents } from '../../evaluation/scored-contents.js';
import { type EvaluationSettings, parseEvaluation } from '../../evaluation/settings.js';
import { weightsOfShards } from '../../store/weights.js';
import { type ExperimentMerge, expandExperiment } from '../file/expand.js';
import type { Experiment } from '../file/read-experiment.js';
import { experimentReferences } from '../file/references.js';
import type { CostInPlace } from '../in-place/cost-in-place.js';
import { formerRecord, type MergeRecord, readRecord, type ScoreError } from '../record/experiment-record.js';
import { checkExperimentTasks } from './check-tasks.js';
import { type EvaluateOptions, selectModels, settingsOf } from './evaluation-options.js';
import { checkInPlace, planInPlace } from './in-place.js';
import { lackingIn, type ModelToScore, modelsToScore, weightsOf } from './models-to-score.js';
import { ScoringOrder } from './scoring-order.js';
import { resultOf } from './wanted-results.js';

/** A task of models that have no results of it. */
export interface PlannedTask {
  readonly task: string;
  /** Number of those models, of equal weights one. */
  readonly models: number;
  /** Problems of all of them; null where no result tells how many the task has. */
  readonly problems: number | null;
  /** Seconds of one problem and of all, one model at once; null where none was measured. */
  readonly secondsPerProblem: number | null;
  readonly seconds: number | null;
}

/** How long scoring takes, from the durations of results that are in a directory. */
export interface ScoringTime {
  readonly tasks: readonly PlannedTask[];
  /** Models that are scored at once. */
  readonly jobs: number;
  /** Seconds of all, so many models at once; null where a task was not measured. */
  readonly seconds: number | null;
  /** Results that were measured here. */
  readonly measured: number;
}

/** A model in the order in which models are scored. */
export interface OrderedModel {
  readonly name: string;
  /** Number of the job that scores it, from 0 on, if all models take equally long in a task. */
  readonly job: number;
  /** Bytes of weights to load for it; null where that is not known. */
  readonly bytes: number | null;
}

/** Weights that processes load which score one model after another. */
export interface WeightsToBeLoaded {
  /** Bytes that they load, and of all models. */
  readonly loaded: number;
  readonly ofModels: number;
  /** Number of models that are loaded whole, and of which only what differs is; of the others it is not known. */
  readonly whole: number;
  readonly exchanged: number;
}

/** What an evaluation would do. */
export interface EvaluationPlan extends ScoringTime {
  readonly directory: string;
  /** Models with tasks that have no results. A merge that is not there yet is scored once a batch has made it. */
  readonly models: readonly {
    readonly name: string;
    readonly tasks: readonly string[];
    readonly isThere: boolean;
  }[];
  /** The models that are there, of equal weights one unless all are scored again, in the order in which they are scored. */
  readonly order: readonly OrderedModel[];
  /**
   * Null where no process holds models: each is loaded whole, by a process of its own or a server. Tensors that happen to be equal
   * in files of different origin count as different.
   */
  readonly weights: WeightsToBeLoaded | null;
  /** Number of models that have all their results, and of results that there are. */
  readonly kept: number;
  readonly there: number;
  /** Models that cannot be read. */
  readonly failed: readonly (ScoreError & { readonly model: string })[];
  /** Tasks that cannot be run, and those whose names only the harness knows where it is not installed. */
  readonly impossible: readonly (ScoreError & { readonly task: string })[];
  readonly unchecked: readonly string[];
  /** What scoring merges makes that are not written; null without `inPlace`. */
  readonly inPlace: CostInPlace | null;
}

/** Estimates how long models take in their tasks. */
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
    const [problems, seconds] = [
      pace.problemsIn(task, settings.rowsOf(task)),
      pace.secondsOf(task, settings.rowsOf(task)),
    ];
    return {
      task,
      models: count,
      problems: problems === undefined ? null : problems * count,
      secondsPerProblem: pace.secondsPerProblem(task) ?? null,
      seconds: seconds === undefined ? null : seconds * count,
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
 * Says what `evaluateExperiment` would do, and scores nothing: models and tasks without results, and how long they take by
 * the durations of the results that are in the directory.
 *
 * @throws LayerloomError EXPERIMENT_MISSING, EXPERIMENT_INVALID, RECIPE_INVALID, INVALID_PARAMETER, INTERRUPTED
 */
export const planEvaluation = async (
  directory: string,
  options: EvaluateOptions = {},
): Promise<EvaluationPlan> => {
  const place = resolve(directory);
  const record = await readRecord(place);
  const settings = settingsOf(record, place, options);
  const { failed: faults, unchecked } = await checkExperimentTasks(
    { evaluate: record.evaluate },
    options.signal,
    options.lmEval,
  );
  const found = await new ResultFiles(place).list();
  const failed: EvaluationPlan['failed'][number][] = [];
  const models: EvaluationPlan['models'][number][] = [];
  const there: WeighedModel[] = [];
  /** What runs: of equal weights one. */
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
    const results = options.force ? [] : found;
    const lacking = model.tasks.filter(
      (task) => weights === undefined || resultOf(results, weights, task, settings) === undefined,
    );
    const tasks = lacking.filter((task) => !faults.has(task));
    have += model.tasks.length - lacking.length;
    if (lacking.length === 0) kept += 1;
    else if (tasks.length > 0) {
      models.push({ name: model.name, tasks, isThere: weights !== undefined });
      scored.push(weights === undefined ? { tasks } : { tasks: counted.lacking(weights, tasks) });
      if (weights !== undefined) there.push({ ...model, tasks, weights });
    }
  }
  const { jobs } = settings;
  const isExchanging = await exchangesWeights(settings, harnessCommand(options.lmEval), options.separate);
  const toMake = models.flatMap(({ name }) => (notWritten.has(name) ? [name] : []));
  const inPlace = options.inPlace ? await planInPlace(record, new Set(toMake), place) : undefined;
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
      found,
    ),
  };
};

/** Models of equal weights have each other's results: a task of some weights runs once, unless all are scored again. */
class OncePerWeights {
  readonly #force: boolean;
  readonly #scored = new Set<string>();

  constructor(force: boolean) {
    this.#force = force;
  }

  /** Returns the tasks that no model of these weights has been listed with. */
  lacking(weights: string, tasks: readonly string[]): string[] {
    const lacking = tasks.filter((task) => this.#force || !this.#scored.has(`${weights} ${task}`));
    for (const task of tasks) this.#scored.add(`${weights} ${task}`);
    return lacking;
  }
}

interface WeighedModel extends ModelToScore {
  /** The identity of its weights. */
  readonly weights: string;
}

/** Takes models as lanes would, each as long as it has tasks. */
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
      // Another model of equal weights has its results.
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
 * Estimates how long the models of an experiment take to score before they are there, by results in its directory. Models
 * that are recorded with scores need none, unless the plan has other weights for them.
 *
 * @param out the experiment's directory, which need not be there
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
