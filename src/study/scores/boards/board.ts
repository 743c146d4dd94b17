import { LayerloomError } from '../../../core/base/errors/errors.js';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { nearest } from '../../../core/base/nearest.js';
import { taskOf } from '../../evaluation/data/task-facts.js';
import type { EvaluationResult } from '../../evaluation/result.js';
import { whyNoBest } from '../comparing/conclusion.js';
import { ImportedFigures } from '../reading/imported.js';
import { headlineMetrics, nameOfMetric, type Scale, scaleOf } from '../reading/metrics.js';
import { type ModelScore, scoresOf } from '../reading/model-score.js';
import type { Cell } from '../reading/score-table.js';
import {
  type HeadlineMetric,
  isOfLanguage,
  type ScoredExperiment,
  type ScoredModel,
} from '../reading/scored-experiment.js';
import type { Resampling } from '../statistics/resample.js';

export interface TableOptions extends Resampling {
  /** Layouts, such as `table-1`; default: every layout with a filled cell. */
  readonly tables?: readonly string[] | undefined;
  /**
   * Metric, as `metric,filter`, for every task that has it; or a function from task to metric. Default:
   * headline metrics.
   */
  readonly metric?: string | HeadlineMetric | undefined;
  /** Equivalence margin in points, for ablations and reverted experts. Default: no equivalence test. */
  readonly margin?: number | undefined;
  /** Half width in points of the 95 % intervals in the table `plan`; default: no such table. */
  readonly plan?: number | undefined;
}

/** Task in one language, with its metric. */
export interface Subject {
  readonly benchmark: string;
  readonly language: string;
  readonly task: string;
  readonly metric: string;
  readonly scale: Scale;
}

/** Returns the benchmark's name in the paper, or the task's own. Each perplexity metric is a benchmark. */
const benchmarkOf = (task: string, metric: string, declared: ScoredExperiment['declared']): string => {
  const own = declared?.get(task)?.name;
  if (own !== undefined) return own;
  const name = taskOf(task)?.benchmark ?? task;
  return scaleOf(metric).unit === 'perplexity' ? nameOfMetric(metric).replaceAll('_', ' ') : name;
};

const unknownMetric = (metric: string, metrics: ReadonlySet<string>): LayerloomError => {
  const near = nearest(metric, metrics);
  return new LayerloomError('INVALID_PARAMETER', {
    parameter: 'metric',
    value: metric,
    expected: [...metrics].filter((name) => !/_stderr(,|$)/.test(name)).join(', '),
    nearest: near,
  });
};

export class Board {
  readonly experiment: ScoredExperiment;
  readonly imported: ImportedFigures;
  readonly resampling: Resampling;
  readonly metric: HeadlineMetric;
  readonly margin: number | undefined;
  readonly plan: number | undefined;
  readonly subjects: readonly Subject[];
  readonly #firsts: ReadonlyMap<string, Subject>;
  readonly #refusals = new Set<string>();
  readonly #made = new Map<string, unknown>();

  constructor(experiment: ScoredExperiment, { metric, margin, plan, resamples, seed }: TableOptions = {}) {
    if (resamples !== undefined && !(Number.isSafeInteger(resamples) && resamples > 0))
      throw invalidParameter('resamples', resamples, 'a whole number above 0');
    for (const [name, points] of Object.entries({ margin, plan }))
      if (points !== undefined && !(Number.isFinite(points) && points > 0 && points < 100))
        throw invalidParameter(name, points, 'a number of points above 0 and below 100');
    this.margin = margin;
    this.plan = plan;
    this.resampling = { resamples, seed };
    const headline = headlineMetrics(experiment.models);
    const has = (task: string, wanted: string) =>
      experiment.models.some(({ results }) => typeof results.get(task)?.metrics[wanted] === 'number');
    const metrics = new Set(
      experiment.models.flatMap(({ results }) =>
        [...results.values()].flatMap((of) => Object.keys(of.metrics)),
      ),
    );
    if (typeof metric === 'string' && metrics.size > 0 && !metrics.has(metric))
      throw unknownMetric(metric, metrics);
    this.metric =
      typeof metric === 'function'
        ? metric
        : (task) => {
            const own = experiment.declared?.get(task)?.metric;
            const wanted = [metric, own].find((one) => one !== undefined && has(task, one));
            return wanted ?? headline(task);
          };
    const isScored = (of: string | undefined, { metrics }: EvaluationResult) =>
      of === undefined || typeof metrics[of] === 'number';
    const models = experiment.models.map((model) => ({
      ...model,
      results: new Map([...model.results].filter(([task, of]) => isScored(this.metric(task), of))),
    }));
    // Means and comparisons have equal models.
    this.experiment = { ...experiment, models };
    this.subjects = [...experiment.tasks].flatMap(([language, tasks]) =>
      tasks.flatMap((task) => {
        const of = this.metric(task);
        if (of === undefined) return [];
        const scale = scaleOf(of);
        const benchmark = benchmarkOf(task, of, experiment.declared);
        return [{ benchmark, language, task, metric: of, scale }];
      }),
    );
    this.#firsts = new Map(
      this.subjects.map((of) => [`${of.benchmark}\n${of.language}`, of] as const).reverse(),
    );
    this.imported = new ImportedFigures(experiment.summaries);
  }

  get benchmarks(): readonly string[] {
    const all = [...this.subjects.map(({ benchmark }) => benchmark), ...this.imported.benchmarks];
    return [...new Set(['MGSM', ...all])].filter((benchmark) => all.includes(benchmark));
  }

  get languages(): readonly string[] {
    return [...new Set([...this.experiment.languages, ...this.imported.languages])];
  }

  subject(benchmark: string, language: string): Subject | undefined {
    return this.#firsts.get(`${benchmark}\n${language}`);
  }

  scores(models: readonly ScoredModel[], { task, metric }: Subject): ModelScore[] {
    return scoresOf(models, task, metric);
  }

  /** Returns why no model of a language may be called the best on a task; undefined if one may. */
  whyNoBest(subject: Subject): string | undefined {
    const { models, languages } = this.experiment;
    const { language } = subject;
    const isOwn = languages.includes(language);
    const scores = this.scores(
      models.filter((model) => !isOwn || isOfLanguage(model, language)),
      subject,
    );
    if (scores.length === 0) return undefined;
    return whyNoBest({
      metric: subject.metric,
      n: Math.min(...scores.map(({ n }) => n)),
      scores: scores.map(({ value }) => value),
    });
  }

  /** Flags figures whose models lack scores. */
  lack(models: readonly ScoredModel[], subject: Subject): Pick<Cell, 'flag'> {
    const { length } = this.scores(models, subject);
    const flag = `${length} of ${models.length} models have scores of ${subject.task}`;
    return length === models.length ? {} : { flag };
  }

  results(models: readonly ScoredModel[], { task }: Pick<Subject, 'task'>): EvaluationResult[] {
    return models.flatMap(({ results }) => results.get(task) ?? []);
  }

  /** Returns a cached value. @param key names the value and everything that it depends on */
  remember<T>(key: string, make: () => T): T {
    if (!this.#made.has(key)) this.#made.set(key, make());
    return this.#made.get(key) as T;
  }

  /** Returns a comparison. If results cannot be paired, records the reason and returns undefined. */
  attempt<T>(compare: () => T): T | undefined {
    try {
      return compare();
    } catch (error) {
      if (!(error instanceof LayerloomError) || error.code !== 'RESULTS_NOT_PAIRED') throw error;
      this.#refusals.add(error.message);
      return undefined;
    }
  }

  takeRefusals(): string[] {
    const refusals = [...this.#refusals];
    this.#refusals.clear();
    return refusals;
  }
}
