import { LayerloomError } from '../base/errors.js';
import { itemAt, propertyAt, valueAt } from '../base/lookup.js';
import type { EvaluationResult, ProblemResult } from '../evaluation/result.js';
import { type Aggregate, aggregateOf } from './metrics.js';

/** One model's scores of problems, as sums and weights: a plain score has the weight 1. */
export interface Column {
  readonly sums: Float64Array;
  readonly weights: Float64Array;
}

/** Scores of several models of the same problems in the same order. */
export interface Aligned {
  readonly n: number;
  readonly columns: readonly Column[];
  readonly aggregate: Aggregate;
  /** True if every score is 0 or 1. */
  readonly isBinary: boolean;
}

/** Returns the reason why results cannot be compared by problem; undefined if they can. */
export const whyUnpaired = (results: readonly EvaluationResult[], metric: string): string | undefined => {
  for (const { model, task, problems } of results) {
    if (problems.length === 0) return `${model} has no results by problem of ${task}`;
    if (problems.some(({ scores }) => !Object.hasOwn(scores, metric)))
      return `${model} has no scores by problem of ${metric} in ${task}`;
  }
  return undefined;
};

/**
 * Aligns results by problem: by the hash of the problem's data, and by its row too where a task has the same
 * problem twice.
 *
 * @throws LayerloomError RESULTS_NOT_PAIRED if task, version, shots or longest answers differ, prompts or targets of a problem
 *   differ, or a problem is there twice, or missing in one of the results
 */
export const alignResults = (results: readonly EvaluationResult[], metric: string): Aligned => {
  const first = itemAt(results, 0);
  const problems = results.map((result) => problemsOf(result, first));
  // By row, whatever order a file has, so that languages which translate the same problems have them in one order.
  const keys = [...itemAt(problems, 0)].sort(([, a], [, b]) => a.id - b.id).map(([key]) => key);
  for (const [index, of] of problems.entries())
    checkSame(first, itemAt(problems, 0), itemAt(results, index), of);
  const scores = problems.map((of) => keys.map((key) => propertyAt(valueAt(of, key).scores, metric)));
  const all = scores.flat();
  return {
    n: keys.length,
    columns: scores.map((of) => ({
      sums: Float64Array.from(of, (score) => (typeof score === 'number' ? score : score[0])),
      weights: Float64Array.from(of, (score) => (typeof score === 'number' ? 1 : score[1])),
    })),
    aggregate: aggregateOf(metric, all),
    isBinary: all.every((score) => score === 0 || score === 1),
  };
};

/** By result, since a result is compared with many others. */
const known = new WeakMap<EvaluationResult, ReadonlyMap<string, ProblemResult>>();

const problemsOf = (
  result: EvaluationResult,
  first: EvaluationResult,
): ReadonlyMap<string, ProblemResult> => {
  const before = known.get(result);
  if (before !== undefined) return before;
  const seen = new Map<string, number>();
  for (const { document } of result.problems) seen.set(document, (seen.get(document) ?? 0) + 1);
  const found = new Map<string, ProblemResult>();
  for (const problem of result.problems) {
    const { id, document } = problem;
    const key = seen.get(document) === 1 ? document : `${document} ${id}`;
    if (found.has(key)) throw notPaired(first, result, `${result.model} has problem ${id} twice`);
    found.set(key, problem);
  }
  known.set(result, found);
  return found;
};

const checkSame = (
  first: EvaluationResult,
  expected: ReadonlyMap<string, ProblemResult>,
  result: EvaluationResult,
  problems: ReadonlyMap<string, ProblemResult>,
): void => {
  const refuse = (reason: string) => notPaired(first, result, reason);
  if (result.task !== first.task) throw refuse(`the tasks are ${first.task} and ${result.task}`);
  if (result.taskVersion !== first.taskVersion)
    throw refuse(`the versions of the task are ${first.taskVersion} and ${result.taskVersion}`);
  if (result.fewshot !== first.fewshot)
    throw refuse(`the numbers of examples are ${first.fewshot} and ${result.fewshot}`);
  if (result.maxTokens !== first.maxTokens)
    throw refuse(`the longest answers are ${most(first)} and ${most(result)}`);
  for (const [key, { id, prompt, target }] of expected) {
    const other = problems.get(key);
    if (other === undefined) throw refuse(`${result.model} lacks problem ${id}`);
    if (other.prompt !== prompt) throw refuse(`the prompts of problem ${id} differ`);
    if (other.target !== target) throw refuse(`the expected answers of problem ${id} differ`);
  }
  for (const [key, { id }] of problems)
    if (!expected.has(key)) throw refuse(`${first.model} lacks problem ${id}`);
};

const most = ({ maxTokens }: EvaluationResult): string =>
  maxTokens === null ? "the task's own" : `${maxTokens} tokens`;

const notPaired = (first: EvaluationResult, other: EvaluationResult, reason: string): LayerloomError =>
  new LayerloomError('RESULTS_NOT_PAIRED', {
    task: first.task,
    models: [first.model, other.model],
    reason,
  });

/**
 * Returns the score of a row of a table: the mean over its models, each aggregated over problems. `counts` says how
 * often each problem is taken; without it, once.
 */
export const meanScore = (
  columns: readonly Column[],
  { of }: Aggregate,
  counts?: ArrayLike<number>,
): number => {
  let total = 0;
  for (const { sums, weights } of columns) {
    let [sum, weight] = [0, 0];
    for (let at = 0; at < sums.length; at += 1) {
      const times = counts === undefined ? 1 : (counts[at] as number);
      sum += times * (sums[at] as number);
      weight += times * (weights[at] as number);
    }
    total += of(sum, weight);
  }
  return total / columns.length;
};

/**
 * Returns one column of the means over models where the row's score is the mean of problems' scores, so that a
 * resample is one pass, however many models the row has; otherwise the columns themselves.
 */
export const condensed = (columns: readonly Column[], { isMean }: Aggregate): readonly Column[] => {
  if (!isMean || columns.length === 1) return columns;
  const [{ weights }] = columns as [Column];
  const sums = new Float64Array(weights.length);
  for (const column of columns)
    for (let at = 0; at < sums.length; at += 1)
      sums[at] = (sums[at] as number) + (column.sums[at] as number) / columns.length;
  return [{ sums, weights }];
};

/**
 * Returns a model's scores as one number a problem, whose mean is the model's score: the jackknife's pseudo-values
 * (Tukey 1958), n θ − (n − 1) θ without the problem. Of a score that is a mean these are the problems' scores.
 */
export const pseudoValues = ({ sums, weights }: Column, { of, isMean }: Aggregate): Float64Array => {
  if (isMean) return sums;
  const n = sums.length;
  const [sum, weight] = [sums, weights].map((values) =>
    values.reduce((total, value) => total + value, 0),
  ) as [number, number];
  return sums.map(
    (own, at) => n * of(sum, weight) - (n - 1) * of(sum - own, weight - (weights[at] as number)),
  );
};
