import type { EvaluationResult } from '../evaluation/result.js';
import type { Difference } from './pages/data.js';

/** Quantile 0.975 of the normal distribution. */
const normal = 1.959964;

/** Returns a group's mean score of each problem, for the problems that all of its results have. */
const meansOf = (results: readonly EvaluationResult[], metric: string): Map<string, number> => {
  const sums = new Map<string, { sum: number; count: number }>();
  for (const { problems } of results)
    for (const { document, prompt, target, scores } of problems) {
      const score = scores[metric];
      if (typeof score !== 'number') continue;
      const key = `${document} ${prompt} ${target}`;
      const { sum, count } = sums.get(key) ?? { sum: 0, count: 0 };
      sums.set(key, { sum: sum + score, count: count + 1 });
    }
  return new Map(
    [...sums].flatMap(([key, { sum, count }]) => (count === results.length ? [[key, sum / count]] : [])),
  );
};

/** Returns mean, standard error and normal 95 % interval of numbers; null for fewer than two. */
const summarise = (values: readonly number[]): Difference | null => {
  const n = values.length;
  if (n < 2) return null;
  const mean = values.reduce((a, b) => a + b, 0) / n;
  const squares = values.reduce((total, value) => total + (value - mean) ** 2, 0);
  const stderr = Math.sqrt(squares / (n - 1) / n);
  return { mean, stderr, n, interval: [mean - normal * stderr, mean + normal * stderr] };
};

/**
 * Returns the mean score of a group of models over the problems that all of them have, with its standard
 * error over problems. Problems count as the sample, not models.
 */
export const groupMean = (group: readonly EvaluationResult[], metric: string): Difference | null =>
  summarise([...meansOf(group, metric).values()]);

/**
 * Compares two groups of models problem by problem: the mean of the differences of the groups' mean scores,
 * its standard error over problems, and the normal 95 % interval.
 *
 * @returns null if they have fewer than two problems in common
 */
export const differenceOf = (
  group: readonly EvaluationResult[],
  other: readonly EvaluationResult[],
  metric: string,
): Difference | null => {
  const [first, second] = [meansOf(group, metric), meansOf(other, metric)];
  return summarise(
    [...first].flatMap(([key, mean]) => {
      const rival = second.get(key);
      return rival === undefined ? [] : [mean - rival];
    }),
  );
};
