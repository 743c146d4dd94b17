import { LayerloomError } from '../../../core/base/errors/errors.js';
import { itemAt, propertyAt } from '../../../core/base/errors/lookup.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { headlineMetric } from '../../evaluation/data/task-facts.js';
import type { EvaluationResult, ProblemScore } from '../../evaluation/result.js';
import { comparePooled } from '../../scores/comparing/paired.js';
import { whyUnpaired } from '../../scores/reading/align.js';
import { aggregateOf, isHigherBetter } from '../../scores/reading/metrics.js';
import type { ExperimentPoint } from './experiment-space.js';
import type { HeldOutComparison, Landscape, Rows } from './landscape.js';

/** Makes merges and returns why some failed. */
export type Merger = (merges: readonly string[]) => Promise<ReadonlyMap<string, string>>;

/** Scores merges by name on rows of a task. Merges that cannot be scored are skipped. */
export type Scorer = (
  merges: readonly string[],
  rows: Rows,
) => Promise<ReadonlyMap<string, EvaluationResult>>;

export interface ExperimentLandscapeOptions {
  readonly merge: Merger;
  readonly score: Scorer;
  /** `metric,filter`; undefined for the headline metric. */
  readonly metric: string | undefined;
  /** Row of the task at which the landscape begins; default 0. */
  readonly firstRow?: number | undefined;
  /** Called once per failed configuration. */
  readonly onFailure: (point: ExperimentPoint, reason: string) => void;
}

/**
 * Landscape of an experiment's merges. The outcome of a configuration on a problem is the mean over its
 * pairs, as in the paper. Merges are made when first needed.
 */
export class ExperimentLandscape implements Landscape {
  readonly cost: number;
  readonly #points: readonly ExperimentPoint[];
  readonly #options: ExperimentLandscapeOptions;
  #metric: string | undefined;

  constructor(points: readonly ExperimentPoint[], options: ExperimentLandscapeOptions) {
    this.#points = points;
    this.#options = options;
    this.#metric = options.metric;
    this.cost = itemAt(points, 0).merges.length;
  }

  /** The search's metric; undefined before the first result. */
  get metric(): string | undefined {
    return this.#metric;
  }

  async evaluate(points: readonly number[], rows: Rows): Promise<(number[] | null)[]> {
    const results = await this.#results(points, rows);
    return results.map((of) => (of === undefined ? null : this.#outcomes(of)));
  }

  async compare(choice: number, standard: number, rows: Rows): Promise<HeldOutComparison> {
    const [a, b] = await this.#results([choice, standard], rows);
    if (a === undefined || b === undefined)
      throw new LayerloomError('SEARCH_INVALID', {
        reason: `${itemAt(this.#points, a === undefined ? choice : standard).name} could not be scored on the held-out problems`,
        remedy: `see the errors above, and continue with ${optionName('resume')}`,
      });
    const metric = this.#metricOf(itemAt(a, 0));
    const { n, scores, difference, higherIsBetter, interval, p, test, estimand } = comparePooled(
      a,
      b,
      metric,
    );
    return {
      rows: this.#rowsOfTask(rows),
      metric,
      n,
      choice: scores[0],
      default: scores[1],
      difference,
      higherIsBetter,
      interval: interval ?? null,
      p: p ?? null,
      test: test ?? null,
      estimand: estimand ?? null,
    };
  }

  async #results(points: readonly number[], rows: Rows): Promise<(EvaluationResult[] | undefined)[]> {
    const merges = points.map((point) => itemAt(this.#points, point).merges.map(({ name }) => name));
    const failed = await this.#options.merge(merges.flat());
    const found = await this.#options.score(
      merges.filter((names) => !names.some((name) => failed.has(name))).flat(),
      this.#rowsOfTask(rows),
    );
    return merges.map((names, index) => {
      const lacking = names.find((name) => !found.has(name));
      if (lacking === undefined) return names.map((name) => found.get(name) as EvaluationResult);
      this.#options.onFailure(
        itemAt(this.#points, itemAt(points, index)),
        failed.get(lacking) ?? `${lacking} has no score`,
      );
      return undefined;
    });
  }

  #rowsOfTask([from, to]: Rows): Rows {
    const { firstRow = 0 } = this.#options;
    return [from + firstRow, to + firstRow];
  }

  #metricOf({ metrics, task }: EvaluationResult): string {
    this.#metric ??= headlineMetric(task, Object.keys(metrics));
    if (this.#metric === undefined || !Object.hasOwn(metrics, this.#metric))
      throw new LayerloomError('SEARCH_INVALID', {
        reason: `results of ${task} have no ${this.#metric ?? 'metric'}`,
        remedy: `choose one with ${optionName('metric')}: ${Object.keys(metrics).join(', ')}`,
      });
    return this.#metric;
  }

  #outcomes(results: readonly EvaluationResult[]): number[] {
    const first = itemAt(results, 0);
    const metric = this.#metricOf(first);
    const reason = whyUnpaired(results, metric);
    if (reason !== undefined)
      throw new LayerloomError('SEARCH_INVALID', {
        reason,
        remedy: `a search needs scores by problem: choose another metric with ${optionName('metric')}`,
      });
    const scores = results.map(({ problems }) =>
      [...problems].sort((a, b) => a.id - b.id).map((problem) => propertyAt(problem.scores, metric)),
    );
    const { of } = aggregateOf(
      metric,
      scores.flat().every((score) => typeof score === 'number'),
    );
    const sign = (isHigherBetter(first, metric) ? 1 : -1) * (of(1, 1) > of(0, 1) ? 1 : -1);
    return itemAt(scores, 0).map(
      (_, problem) =>
        scores.reduce((sum, ofModel) => sum + sign * ratioOf(itemAt(ofModel, problem)), 0) / scores.length,
    );
  }
}

/** Problem's score per unit of weight; for perplexities, log-likelihood per word or byte. */
const ratioOf = (score: ProblemScore): number => (typeof score === 'number' ? score : score[0] / score[1]);
