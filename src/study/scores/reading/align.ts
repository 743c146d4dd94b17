import { LayerloomError } from '../../../core/base/errors/errors.js';
import { itemAt, ownValue, propertyAt, valueAt } from '../../../core/base/errors/lookup.js';
import { counted } from '../../../core/base/format.js';
import type { EvaluationResult, ProblemResult, ScoreColumn } from '../../evaluation/result.js';
import { sumOf } from '../statistics/mean.js';
import { type Aggregate, aggregateOf, type Range, rangeOf } from './metrics.js';

export type Column = Pick<ScoreColumn, 'sums' | 'weights'>;

export interface Aligned {
  readonly n: number;
  /** Problems, in the order of the first result. */
  readonly problems: readonly ProblemResult[];
  readonly columns: readonly Column[];
  readonly aggregate: Aggregate;
  readonly range: Range;
  readonly isBinary: boolean;
}

/** Returns why results cannot be compared by problem (the first in the alphabet); undefined if they can. */
export const whyUnpaired = (results: readonly EvaluationResult[], metric: string): string | undefined => {
  const reasons = results.flatMap((result) => {
    const { model, task, problems } = result;
    if (problems.length === 0) return [`${model} has no results by problem of ${task}`];
    if (columnOf(result, metric) !== undefined) return [];
    return [`${model} has no scores by problem that add up to its ${metric} of ${task}`];
  });
  return reasons.sort()[0];
};

const columnsBefore = new WeakMap<EvaluationResult, Map<string, ScoreColumn | undefined>>();

/** Returns scores in the order of problems; undefined if one is missing or the stated total differs. */
export const columnOf = (result: EvaluationResult, metric: string): ScoreColumn | undefined => {
  const own = columnsBefore.get(result) ?? new Map<string, ScoreColumn | undefined>();
  columnsBefore.set(result, own);
  if (!own.has(metric)) {
    const column = findColumn(result, metric);
    own.set(metric, column && givesScore(column, result, metric) ? column : undefined);
  }
  return own.get(metric);
};

const rounding = 1e-6;

const givesScore = (
  { sums, weights, arePlain }: ScoreColumn,
  { metrics }: EvaluationResult,
  metric: string,
): boolean => {
  const stated = ownValue(metrics, metric) ?? undefined;
  if (stated === undefined) return true;
  const computed = aggregateOf(metric, arePlain).of(sumOf(sums), sumOf(weights));
  return Math.abs(computed - stated) <= rounding * Math.max(1, Math.abs(stated));
};

/** Like `columnOf`, but does not check the stated total. */
export const findColumn = (
  { columns, problems }: EvaluationResult,
  metric: string,
): ScoreColumn | undefined => {
  if (columns !== undefined) {
    const column = columns.get(metric);
    return column?.sums.includes(Number.NaN) ? undefined : column;
  }
  if (!problems.every(({ scores }) => Object.hasOwn(scores, metric))) return undefined;
  const scores = problems.map(({ scores: of }) => propertyAt(of, metric));
  return {
    sums: Float64Array.from(scores, (score) => (typeof score === 'number' ? score : score[0])),
    weights: Float64Array.from(scores, (score) => (typeof score === 'number' ? 1 : score[1])),
    arePlain: scores.every((score) => typeof score === 'number'),
  };
};

/**
 * Aligns results by the hash of the problem's data; also by row if a task contains a problem twice.
 *
 * @throws RESULTS_NOT_PAIRED if results differ in task, version, shots, token limit, sampling, prompts or
 *   targets, or a result lacks a problem or has it twice
 */
export const alignResults = (results: readonly EvaluationResult[], metric: string): Aligned => {
  // Sorts by name, so that an error names the same two models whatever the order of results.
  const byName = results.toSorted((a, b) => (a.model < b.model ? -1 : a.model > b.model ? 1 : 0));
  const first = itemAt(byName, 0);
  for (const result of byName) checkSame(first, result);
  const { keys, places } = problemsOf(first, first);
  const scores = results.map((result) => scoresOf(result, metric, keys));
  const aggregate = aggregateOf(
    metric,
    scores.every(({ arePlain }) => arePlain),
  );
  const ends = scores.flatMap(({ least, most }) => [least, most]);
  return {
    n: keys.length,
    problems: keys.map((key) => itemAt(first.problems, valueAt(places, key))),
    columns: scores.map(({ column }) => column),
    aggregate,
    range: rangeOf(metric, aggregate.isMean ? ends : []),
    isBinary: scores.every(({ areBinary }) => areBinary),
  };
};

interface ReadScores {
  readonly keys: readonly string[];
  readonly column: Column;
  readonly arePlain: boolean;
  readonly areBinary: boolean;
  readonly least: number;
  readonly most: number;
}

/** Caches scores, because a result is compared with many other results. */
const readBefore = new WeakMap<EvaluationResult, Map<string, ReadScores>>();

const scoresOf = (result: EvaluationResult, metric: string, keys: readonly string[]): ReadScores => {
  const own = readBefore.get(result) ?? new Map<string, ReadScores>();
  readBefore.set(result, own);
  const before = own.get(metric);
  if (before?.keys === keys) return before;
  const { places } = problemsOf(result, result);
  const { arePlain, ...column } = columnOf(result, metric) as ScoreColumn;
  const order = keys.map((key) => valueAt(places, key));
  const inOrder = order.every((place, at) => place === at);
  const ordered = (of: Float64Array) =>
    inOrder ? of : Float64Array.from(order, (place) => of[place] as number);
  const sums = ordered(column.sums);
  const read: ReadScores = {
    keys,
    column: { sums, weights: ordered(column.weights) },
    arePlain,
    areBinary: arePlain && sums.every((score) => score === 0 || score === 1),
    least: sums.reduce((a, b) => Math.min(a, b)),
    most: sums.reduce((a, b) => Math.max(a, b)),
  };
  own.set(metric, read);
  return read;
};

interface Problems {
  readonly places: ReadonlyMap<string, number>;
  /** Keys are in order of rows, not of the file, so that translations of the same problems have one order. */
  keys: readonly string[];
}

/** Caches problems by list. Lists with the same problems in the same rows share `keys` once compared. */
const known = new WeakMap<readonly ProblemResult[], Problems>();

const problemsOf = (result: EvaluationResult, first: EvaluationResult): Problems => {
  const before = known.get(result.problems);
  if (before !== undefined) return before;
  const seen = new Map<string, number>();
  for (const { document } of result.problems) seen.set(document, (seen.get(document) ?? 0) + 1);
  const places = new Map<string, number>();
  for (const [at, { id, document }] of result.problems.entries()) {
    const key = seen.get(document) === 1 ? document : `${document} ${id}`;
    if (places.has(key)) throw notPaired(first, result, `${result.model} has problem ${id} twice`);
    places.set(key, at);
  }
  const idAt = (place: number): number => itemAt(result.problems, place).id;
  const keys = [...places].sort(([, a], [, b]) => idAt(a) - idAt(b)).map(([key]) => key);
  const problems = { places, keys };
  known.set(result.problems, problems);
  return problems;
};

const checkSame = (first: EvaluationResult, result: EvaluationResult): void => {
  const refuse = (reason: string) => notPaired(first, result, reason);
  if (result.task !== first.task) throw refuse(`the tasks are ${first.task} and ${result.task}`);
  if (result.taskVersion !== first.taskVersion)
    throw refuse(`the versions of the task are ${first.taskVersion} and ${result.taskVersion}`);
  if (result.fewshot !== first.fewshot)
    throw refuse(`the numbers of few-shot examples are ${first.fewshot} and ${result.fewshot}`);
  if (result.maxTokens !== first.maxTokens)
    throw refuse(`the token limits are ${most(first)} and ${most(result)}`);
  if (result.sampling !== first.sampling)
    throw refuse(`the answers are ${drawn(first)} and ${drawn(result)}`);
  const [expected, problems] = [problemsOf(first, first), problemsOf(result, first)];
  if (problems.keys === expected.keys) return;
  let areSameRows = true;
  for (const key of expected.keys) {
    const { id, prompt, target } = itemAt(first.problems, valueAt(expected.places, key));
    const place = problems.places.get(key);
    const other = place === undefined ? undefined : itemAt(result.problems, place);
    if (other === undefined) throw refuse(`${result.model} lacks problem ${id}`);
    if (other.prompt !== prompt) throw refuse(`the prompts of problem ${id} differ`);
    if (other.target !== target) throw refuse(`the expected answers of problem ${id} differ`);
    areSameRows &&= other.id === id;
  }
  const more = problems.keys.find((key) => !expected.places.has(key));
  if (more !== undefined)
    throw refuse(
      `${first.model} lacks problem ${itemAt(result.problems, valueAt(problems.places, more)).id}`,
    );
  if (areSameRows) problems.keys = expected.keys;
};

const drawn = ({ sampling }: EvaluationResult): string =>
  sampling === null ? 'greedy' : `drawn by ${sampling}`;

const most = ({ maxTokens }: EvaluationResult): string =>
  maxTokens === null ? "the task's own" : counted(maxTokens, 'token');

const notPaired = (first: EvaluationResult, other: EvaluationResult, reason: string): LayerloomError =>
  new LayerloomError('RESULTS_NOT_PAIRED', {
    task: first.task,
    models: [first.model, other.model],
    reason,
  });

/**
 * Returns jackknife pseudo-values (Tukey 1958): n θ − (n − 1) θ₋ᵢ, where θ₋ᵢ is the score without problem i.
 * The mean of these values is the model's score. If the score is a mean, they are the problems' scores.
 */
export const pseudoValues = ({ sums, weights }: Column, { of, isMean }: Aggregate): Float64Array => {
  if (isMean) return sums;
  const n = sums.length;
  const [sum, weight] = [sumOf(sums), sumOf(weights)];
  return sums.map(
    (own, at) => n * of(sum, weight) - (n - 1) * of(sum - own, weight - (weights[at] as number)),
  );
};
