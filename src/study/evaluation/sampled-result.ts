import { itemAt } from '../../core/base/errors/lookup.js';
import { type JoinedScores, joinScores, meanScores, type Run } from './joined-scores.js';
import type { EvaluationResult, ProblemResult, ProblemScore, ScoreColumn } from './result.js';

type Metrics = EvaluationResult['metrics'];

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Averages figures over several answers. Standard errors cannot be averaged and become null. */
export const meanMetrics = (all: readonly Metrics[]): Metrics => {
  const [first = {}, ...others] = all;
  if (others.length === 0) return first;
  return Object.fromEntries(
    Object.keys(first).map((metric) => {
      const mean = meanOf(all.map((metrics) => metrics[metric] ?? Number.NaN));
      return [metric, /_stderr(,|$)/.test(metric) || Number.isNaN(mean) ? null : mean];
    }),
  );
};

/**
 * Joins the results of several answers to the same problems into one. A problem's score is the mean over its
 * answers, so figures are avg@k and intervals include the variance of sampling. Binary metrics also get
 * `pass@j` for j = 2, 4, 8, … and k (Chen et al. 2021, unbiased). If answers were extracted, they also get
 * `maj@k` (Wang et al. 2023): the score of the most frequent answer, or the mean over tied ones. Answers that
 * the task's metric treats as equal count as one. There is no `maj@k` if we cannot recognise all answers that the
 * metric treats as equal.
 *
 * @param results k results of one model on one task, at least one
 * @returns the result itself for k = 1; undefined if problems differ
 */
export const ofSamples = (results: readonly EvaluationResult[]): EvaluationResult | undefined => {
  const first = itemAt(results, 0);
  if (results.length === 1) return first;
  const samples = results.flatMap((result) => {
    const problems = inOrderOf(first.problems, result.problems, result.problems);
    return problems === undefined ? [] : [problems === result.problems ? result : { ...result, problems }];
  });
  if (samples.length < results.length) return undefined;
  const joined = joinScores(
    first.task,
    samples.map(({ problems }) => problems),
  );
  const problems = first.problems.map((problem, at) => ({
    ...problem,
    scores: Object.fromEntries(
      [...joined.columns].flatMap(([metric, column]) => scoreAt(metric, column, at)),
    ),
  }));
  return { ...first, ...factsOf(results, joined), problems, samples };
};

const scoreAt = (
  metric: string,
  { sums, weights, arePlain }: ScoreColumn,
  at: number,
): [string, ProblemScore][] => {
  const [sum, weight] = [sums[at] as number, weights[at] as number];
  return Number.isNaN(sum) ? [] : [[metric, arePlain ? sum : [sum, weight]]];
};

/** Result read without responses. */
export interface BareResult extends EvaluationResult {
  /** Outcomes in order of `problems`, whose scores and answers are empty. */
  readonly outcomes: Run;
}

/** Like `ofSamples`; scores are in `columns`, also for k = 1. */
export const ofBareSamples = (results: readonly BareResult[]): EvaluationResult | undefined => {
  const { outcomes, ...first } = itemAt(results, 0);
  if (results.length === 1) return { ...first, columns: meanScores([outcomes]).columns };
  const runs = results.flatMap((result) => {
    const own = inOrderOf(first.problems, result.problems, result.outcomes);
    return own === undefined ? [] : [own];
  });
  if (runs.length < results.length) return undefined;
  const joined = joinScores(first.task, runs);
  return { ...first, ...factsOf(results, joined), columns: joined.columns };
};

const factsOf = (results: readonly EvaluationResult[], { figures, variances }: JoinedScores) => {
  const runs = results.map(({ metrics }) => metrics);
  return {
    metrics: { ...meanMetrics(runs), ...figures },
    drawn: { runs, variances },
    seconds: results.reduce((sum, { seconds }) => sum + seconds, 0),
  };
};

const inOrderOf = <Of>(
  first: readonly ProblemResult[],
  problems: readonly ProblemResult[],
  own: readonly Of[],
): readonly Of[] | undefined => {
  if (problems === first) return own;
  const isSame = (one: ProblemResult | undefined, { id, document, prompt }: ProblemResult): boolean =>
    one?.id === id && one.document === document && one.prompt === prompt;
  if (problems.length !== first.length) return undefined;
  if (first.every((problem, at) => isSame(problems[at], problem))) return own;
  const places = new Map(problems.map(({ id }, at) => [id, at]));
  const order = first.map((problem) => {
    const at = places.get(problem.id);
    return at !== undefined && isSame(problems[at], problem) ? at : -1;
  });
  return order.includes(-1) ? undefined : order.map((at) => itemAt(own, at));
};
