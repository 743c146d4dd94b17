import { itemAt } from '../../../core/base/errors/lookup.js';
import type { EvaluationResult } from '../../evaluation/result.js';
import { alignResults, whyUnpaired } from '../reading/align.js';
import type { ScoredModel } from '../reading/scored-experiment.js';
import type { Subject } from './board.js';

/**
 * Returns an imaginary model, with the experts of `like`. On each problem its score is a weighted sum of
 * other models' scores, as expected if scores were linear. Comparisons with it include the errors of all
 * terms.
 *
 * If there are no results by problem, or the score is not a mean, only the sum is known.
 *
 * @throws RESULTS_NOT_PAIRED as `alignResults`
 */
export const mixedModel = (
  like: ScoredModel,
  terms: readonly (readonly [model: ScoredModel, weight: number])[],
  { task, metric }: Subject,
): ScoredModel => {
  const results = terms.flatMap(([{ results: of }]) => of.get(task) ?? []);
  const weights = terms.map(([, weight]) => weight);
  const mixed: EvaluationResult = {
    ...itemAt(results, 0),
    model: `the expectation of ${like.name}`,
    metrics: {
      [metric]: sumOf(
        results.map(({ metrics }) => metrics[metric] ?? Number.NaN),
        weights,
      ),
    },
    problems: problemsOf(results, weights, metric),
  };
  return { ...like, name: mixed.model, results: new Map([[task, mixed]]) };
};

const problemsOf = (
  results: readonly EvaluationResult[],
  weights: readonly number[],
  metric: string,
): EvaluationResult['problems'] => {
  if (whyUnpaired(results, metric) !== undefined) return [];
  const { problems, columns, aggregate } = alignResults(results, metric);
  if (!aggregate.isMean) return [];
  return problems.map((problem, at) => ({
    ...problem,
    scores: {
      [metric]: sumOf(
        columns.map(({ sums }) => itemAt(sums, at)),
        weights,
      ),
    },
  }));
};

const sumOf = (values: readonly number[], weights: readonly number[]): number =>
  values.reduce((sum, value, at) => sum + value * itemAt(weights, at), 0);
