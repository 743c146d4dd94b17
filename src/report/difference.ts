import type { EvaluationResult } from '../evaluation/result.js';
import { comparePooled } from '../scores/paired.js';
import type { Difference } from './pages/data.js';

/** Compares two groups of models by problem; null where results by problem are not at hand or not the same. */
export const differenceOf = (
  group: readonly EvaluationResult[],
  other: readonly EvaluationResult[],
  metric: string,
): Difference | null => {
  if (group.length === 0 || other.length === 0) return null;
  const { difference, interval, n } = comparePooled(group, other, metric);
  return interval === undefined ? null : { mean: difference, interval, n };
};
