import { itemAt } from '../../core/base/errors/lookup.js';
import { taskOf } from './data/task-facts.js';
import type { EvaluationResult, ProblemResult, ProblemScore } from './result.js';

type Metrics = EvaluationResult['metrics'];

const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/** Averages figures over several answers. Standard errors do not average, and become null. */
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

/** Answers that a filter of the harness did not find. They are wrong, and take no part in a vote. */
const notFound = ['', '[invalid]'];

/**
 * Joins the results of several answers to the same problems into one. A problem's score is the mean over its
 * answers, so the figures are avg@k, and their intervals include the variance of drawing. Metrics of 0 and 1
 * also get `pass@j` for j = 2, 4, 8, … and k (Chen et al. 2021, the unbiased estimate), and, where answers were
 * extracted, `maj@k` (Wang et al. 2023): the score of the most frequent answer, the mean score of several such.
 * Answers that the task's metric calls equal are one. A metric that calls texts right which differ here has no
 * `maj@k`, since its wrong answers cannot be counted either.
 *
 * @param results k results of one model in one task, at least one
 * @returns the result itself for k = 1; undefined if the results are not of the same problems
 */
export const ofSamples = (results: readonly EvaluationResult[]): EvaluationResult | undefined => {
  const first = itemAt(results, 0);
  if (results.length === 1) return first;
  const samples = results.flatMap((result) => inOrderOf(first, result) ?? []);
  if (samples.length < results.length) return undefined;
  const answers = first.problems.map((_, at) => samples.map(({ problems }) => itemAt(problems, at)));
  const binary = binaryMetrics(samples);
  const fold = taskOf(first.task)?.sameAnswer ?? ((text: string) => text);
  const voted = binary.filter((metric) => answers.every((own) => hasOneRight(metric, own, fold)));
  const problems = answers.map((own): ProblemResult => {
    const answer = itemAt(own, 0);
    const means = Object.keys(answer.scores).flatMap((metric): [string, ProblemScore][] => {
      const scores = own.flatMap(({ scores: of }) => of[metric] ?? []);
      return scores.length < own.length ? [] : [[metric, meanScore(scores)]];
    });
    const more = binary.flatMap((metric) => [
      ...passes(metric, own),
      ...(voted.includes(metric) ? majority(metric, own, fold) : []),
    ]);
    return { ...answer, scores: Object.fromEntries([...means, ...more]) };
  });
  return {
    ...first,
    metrics: { ...meanMetrics(results.map(({ metrics }) => metrics)), ...figuresOf(problems, binary) },
    problems,
    samples,
    seconds: results.reduce((sum, { seconds }) => sum + seconds, 0),
  };
};

/** Puts a result's problems in the order of the first's; undefined if they are others. */
const inOrderOf = (first: EvaluationResult, result: EvaluationResult): EvaluationResult | undefined => {
  const isSame = (one: ProblemResult | undefined, { id, document, prompt }: ProblemResult): boolean =>
    one?.id === id && one.document === document && one.prompt === prompt;
  if (result.problems.length !== first.problems.length) return undefined;
  if (first.problems.every((problem, at) => isSame(result.problems[at], problem))) return result;
  const byId = new Map(result.problems.map((problem) => [problem.id, problem]));
  const problems = first.problems.map((problem) => {
    const own = byId.get(problem.id);
    return own !== undefined && isSame(own, problem) ? own : undefined;
  });
  return problems.includes(undefined)
    ? undefined
    : { ...result, problems: problems.filter((problem) => problem !== undefined) };
};

/** Returns the metrics whose scores are all 0 or 1: the first of each filter. */
const binaryMetrics = (samples: readonly EvaluationResult[]): string[] => {
  const byFilter = new Map<string, string>();
  for (const metric of Object.keys(samples[0]?.problems[0]?.scores ?? {})) {
    const isBinary = samples.every(({ problems }) =>
      problems.every(({ scores }) => scores[metric] === 0 || scores[metric] === 1),
    );
    if (isBinary && !byFilter.has(filterOf(metric))) byFilter.set(filterOf(metric), metric);
  }
  return [...byFilter.values()];
};

/** Averages sums and weights separately, if scores have weights. */
const meanScore = (scores: readonly ProblemScore[]): ProblemScore => {
  const plain = scores.filter((score) => typeof score === 'number');
  if (plain.length === scores.length) return meanOf(plain);
  const pairs = scores.map((score) => (typeof score === 'number' ? ([score, 1] as const) : score));
  return [meanOf(pairs.map(([sum]) => sum)), meanOf(pairs.map(([, weight]) => weight))];
};

/** `exact_match,strict` → `,strict` */
const filterOf = (metric: string): string => (metric.includes(',') ? metric.slice(metric.indexOf(',')) : '');

const passes = (metric: string, answers: readonly ProblemResult[]): [string, number][] => {
  const right = answers.filter(({ scores }) => scores[metric] === 1).length;
  const counts = [answers.length];
  for (let count = 2; count < answers.length; count *= 2) counts.push(count);
  return counts
    .sort((a, b) => a - b)
    .map((count) => [`pass@${count}${filterOf(metric)}`, passAt(count, answers.length, right)]);
};

/** 1 − C(n − c, k) / C(n, k): the chance of a right answer among k of n answers, if c of the n are right. */
export const passAt = (k: number, n: number, c: number): number => {
  let none = 1;
  for (let drawn = 0; drawn < k; drawn += 1) none *= Math.max(0, n - c - drawn) / (n - drawn);
  return 1 - none;
};

/** True if all right answers to a problem are one, and no wrong one equals it. */
const hasOneRight = (
  metric: string,
  answers: readonly ProblemResult[],
  fold: (text: string) => string,
): boolean => {
  const filter = filterOf(metric).slice(1);
  const scores = new Map(
    answers.map(({ answers: texts, scores: of }) => [fold(texts[filter] ?? ''), of[metric]]),
  );
  const isStable = answers.every(
    ({ answers: texts, scores: of }) => scores.get(fold(texts[filter] ?? '')) === of[metric],
  );
  return isStable && [...scores.values()].filter((score) => score === 1).length <= 1;
};

const majority = (
  metric: string,
  answers: readonly ProblemResult[],
  fold: (text: string) => string,
): [string, number][] => {
  const filter = filterOf(metric).slice(1);
  const votes = new Map<string, { count: number; score: number }>();
  for (const { answers: texts, scores } of answers) {
    const answer = texts[filter];
    if (answer === undefined) return [];
    const text = fold(answer);
    if (notFound.includes(answer) || text === '') continue;
    votes.set(text, { count: (votes.get(text)?.count ?? 0) + 1, score: Number(scores[metric]) });
  }
  const most = Math.max(0, ...[...votes.values()].map(({ count }) => count));
  const winners = [...votes.values()].filter(({ count }) => count === most);
  const score = winners.reduce((sum, winner) => sum + winner.score, 0) / Math.max(1, winners.length);
  return [[`maj@${answers.length}${filterOf(metric)}`, score]];
};

/** Returns the means of binary and derived metrics over problems, with their standard errors. */
const figuresOf = (problems: readonly ProblemResult[], binary: readonly string[]): Metrics => {
  const n = problems.length;
  const names = Object.keys(problems[0]?.scores ?? {}).filter(
    (name) => binary.includes(name) || /^(pass|maj)@/.test(name),
  );
  return Object.fromEntries(
    names.flatMap((metric): [string, number | null][] => {
      const scores = problems.map(({ scores: of }) => Number(of[metric]));
      const mean = meanOf(scores);
      const squares = scores.reduce((sum, score) => sum + (score - mean) ** 2, 0);
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
};
