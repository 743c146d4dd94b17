import { itemAt, ownValue } from '../../core/base/errors/lookup.js';
import { taskOf } from './data/task-facts.js';
import type { EvaluationResult, Outcome, ScoreColumn } from './result.js';

type Metrics = EvaluationResult['metrics'];

/** Outcomes of one run, by problem. */
export type Run = readonly Outcome[];

export interface JoinedScores {
  /** Score columns by metric; NaN if a problem lacks the metric. */
  readonly columns: ReadonlyMap<string, ScoreColumn>;
  readonly variances: ReadonlyMap<string, Float64Array>;
  /** Means of binary and derived metrics, with standard errors over problems. */
  readonly figures: Metrics;
}

/** Returns each problem's mean score by metric, and its variance over the runs. */
export const meanScores = (runs: readonly Run[]): Pick<JoinedScores, 'columns' | 'variances'> => {
  const first = itemAt(runs, 0);
  const metrics = Object.keys(first[0]?.scores ?? {});
  const read = metrics.map((metric) => [metric, meansOf(metric, runs)] as const);
  return {
    columns: new Map(read.map(([metric, { column }]) => [metric, column])),
    variances: new Map(
      read.flatMap(([metric, { variances }]) => (variances === undefined ? [] : [[metric, variances]])),
    ),
  };
};

/**
 * Joins at least two runs, as described at `ofSamples`.
 *
 * @param task the harness's name, which decides the equivalent answers
 */
export const joinScores = (task: string, runs: readonly Run[]): JoinedScores => {
  const { columns: means, variances } = meanScores(runs);
  const binary = binaryMetrics([...means.keys()], runs);
  const columns = new Map(means);
  const fold = taskOf(task)?.sameAnswer ?? ((text: string) => text);
  for (const metric of binary) {
    for (const [name, column] of passes(metric, means.get(metric), runs.length)) columns.set(name, column);
    const voted = majority(metric, runs, fold);
    if (voted !== undefined) columns.set(`maj@${runs.length}${filterOf(metric)}`, voted);
  }
  return { columns, variances, figures: figuresOf(columns, binary) };
};

/** `exact_match,strict` → `,strict` */
const filterOf = (metric: string): string => (metric.includes(',') ? metric.slice(metric.indexOf(',')) : '');

let ones = new Float64Array();

const plain = (sums: Float64Array): ScoreColumn => {
  if (ones.length !== sums.length) ones = new Float64Array(sums.length).fill(1);
  return { sums, weights: ones, arePlain: true };
};

/** Averages over runs. For weighted scores, averages sums and weights separately. */
const meansOf = (
  metric: string,
  runs: readonly Run[],
): { readonly column: ScoreColumn; readonly variances: Float64Array | undefined } => {
  const [k, n] = [runs.length, itemAt(runs, 0).length];
  const [own, sums, variances] = [new Float64Array(k), new Float64Array(n), new Float64Array(n)];
  const weights = new Float64Array(n);
  let arePlain = true;
  for (let at = 0; at < n; at += 1) {
    let [sum, weight] = [0, 0];
    for (let run = 0; run < k; run += 1) {
      const score = ownValue((runs[run] as Run)[at]?.scores ?? {}, metric) ?? Number.NaN;
      const [value, of] = typeof score === 'number' ? [score, 1] : score;
      arePlain &&= typeof score === 'number';
      own[run] = value;
      sum += value;
      weight += of;
    }
    const mean = sum / k;
    sums[at] = mean;
    weights[at] = weight / k;
    let squares = 0;
    for (let run = 0; run < k; run += 1) squares += ((own[run] as number) - mean) ** 2;
    variances[at] = squares / (k - 1);
  }
  return arePlain
    ? { column: plain(sums), variances }
    : { column: { sums, weights, arePlain }, variances: undefined };
};

/** Returns, for each filter, the first metric whose scores are all 0 or 1. */
const binaryMetrics = (metrics: readonly string[], runs: readonly Run[]): string[] => {
  const byFilter = new Map<string, string>();
  for (const metric of metrics) {
    const isBinary = runs.every((run) =>
      run.every(({ scores }) => {
        const score = ownValue(scores, metric);
        return score === 0 || score === 1;
      }),
    );
    if (isBinary && !byFilter.has(filterOf(metric))) byFilter.set(filterOf(metric), metric);
  }
  return [...byFilter.values()];
};

/** Returns `pass@j` for several j. @param means of binary scores */
const passes = (metric: string, means: ScoreColumn | undefined, k: number): [string, ScoreColumn][] => {
  const right = means?.sums.map((mean) => Math.round(k * mean)) ?? [];
  const counts = [k];
  for (let count = 2; count < k; count *= 2) counts.push(count);
  return counts
    .sort((a, b) => a - b)
    .map((count) => {
      const chances = Array.from({ length: k + 1 }, (_, of) => passAt(count, k, of));
      return [
        `pass@${count}${filterOf(metric)}`,
        plain(Float64Array.from(right, (of) => itemAt(chances, of))),
      ];
    });
};

/** pass@k, unbiased: 1 − C(n − c, k) / C(n, k), for c right answers of n. */
export const passAt = (k: number, n: number, c: number): number => {
  let none = 1;
  for (let drawn = 0; drawn < k; drawn += 1) none *= Math.max(0, n - c - drawn) / (n - drawn);
  return 1 - none;
};

/** Values that the harness gives if a filter found no answer. They count as wrong and have no vote. */
const notFound = ['', '[invalid]'];

interface Vote {
  count: number;
  readonly score: number;
}

/**
 * Groups a problem's equivalent answers, which share one score.
 *
 * @returns undefined if an answer was not extracted, if equivalent answers differ in score, or if several groups are
 * right
 */
const votesOf = (
  metric: string,
  outcomes: readonly Outcome[],
  fold: (text: string) => string,
): readonly Vote[] | undefined => {
  const filter = filterOf(metric).slice(1);
  const [votes, folded] = [new Map<string, Vote>(), new Map<string, string>()];
  for (const { answers, scores } of outcomes) {
    const answer = ownValue(answers, filter);
    if (answer === undefined) return undefined;
    const text = folded.get(answer) ?? fold(answer);
    folded.set(answer, text);
    const score = ownValue(scores, metric) as number;
    const vote = votes.get(text) ?? { count: 0, score };
    if (vote.score !== score) return undefined;
    if (text !== '' && !notFound.includes(answer)) vote.count += 1;
    votes.set(text, vote);
  }
  const all = [...votes.values()];
  return all.filter(({ score }) => score === 1).length > 1 ? undefined : all;
};

/** Returns the score of each problem's most frequent answer; undefined if a problem's votes are unknown. */
const majority = (
  metric: string,
  runs: readonly Run[],
  fold: (text: string) => string,
): ScoreColumn | undefined => {
  const sums = new Float64Array(itemAt(runs, 0).length);
  for (let at = 0; at < sums.length; at += 1) {
    const outcomes = runs.map((run) => itemAt(run, at));
    const votes = votesOf(metric, outcomes, fold);
    if (votes === undefined) return undefined;
    const most = Math.max(1, ...votes.map(({ count }) => count));
    const winners = votes.filter(({ count }) => count === most);
    sums[at] = winners.reduce((sum, { score }) => sum + score, 0) / Math.max(1, winners.length);
  }
  return plain(sums);
};

/** Returns means and standard errors over problems, for binary and derived metrics. */
const figuresOf = (columns: JoinedScores['columns'], binary: readonly string[]): Metrics =>
  Object.fromEntries(
    [...columns].flatMap(([metric, { sums }]): [string, number | null][] => {
      const isFigure = binary.includes(metric) || /^(pass|maj)@/.test(metric);
      if (!isFigure || sums.some(Number.isNaN)) return [];
      const n = sums.length;
      const mean = sums.reduce((sum, value) => sum + value, 0) / n;
      const squares = sums.reduce((sum, score) => sum + (score - mean) ** 2, 0);
      const filter = filterOf(metric);
      return [
        [metric, mean],
        [
          `${metric.slice(0, metric.length - filter.length)}_stderr${filter}`,
          n < 2 ? null : Math.sqrt(squares / (n - 1) / n),
        ],
      ];
    }),
  );
