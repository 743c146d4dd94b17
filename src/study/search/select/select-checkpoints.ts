import { layerloomCommand } from '../../../core/base/errors/command-line.js';
import { invalidParameter } from '../../../core/base/errors/invalid-parameter.js';
import { itemAt, ownValue, valueAt } from '../../../core/base/errors/lookup.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { invalidSelection } from './selection-wishes.js';

/** Checkpoint to choose from. */
export interface SelectionCandidate {
  readonly name: string;
  /** Scores by benchmark, higher is better; all candidates have the same benchmarks. */
  readonly scores: Readonly<Record<string, number>>;
}

/** Distance of two task vectors: 1 − cosine, from 0 (same direction) to 2. */
export interface SelectionDistance {
  readonly pair: readonly [string, string];
  readonly distance: number;
}

/** Candidates with their scores and distances. */
export interface SelectionInput {
  readonly candidates: readonly SelectionCandidate[];
  readonly distances: readonly SelectionDistance[];
  /** Number to choose; default 3, as in the paper. */
  readonly count?: number | undefined;
  /** Weight of diversity relative to score. Default 1; with 0, the best scores win. */
  readonly balance?: number | undefined;
  /** Weights of benchmarks; benchmarks without one are ignored. Default: equal weights. */
  readonly weights?: Readonly<Record<string, number>> | undefined;
  /** Minimum scores by benchmark; candidates below are left out. */
  readonly atLeast?: Readonly<Record<string, number>> | undefined;
}

/** A chosen checkpoint and why it was chosen. */
export interface SelectedCheckpoint {
  readonly name: string;
  /** Weighted mean of benchmarks' standardised scores: 0 is the candidates' mean, 1 a standard deviation. */
  readonly score: number;
  /** Distance to the nearest task vector chosen before; null for the first. */
  readonly distance: number | null;
  /** `distance`, standardised over all pairs; null for the first. */
  readonly diversity: number | null;
  /** Criterion: score + balance·diversity. */
  readonly value: number;
  /** Candidate with the next lower value, if any. */
  readonly next: { readonly name: string; readonly value: number } | null;
}

/** Chosen checkpoints, with reasons. */
export interface Selection {
  readonly chosen: readonly SelectedCheckpoint[];
  readonly balance: number;
  /** Standardised scores of candidates that have the minimum scores, in the given order. */
  readonly scores: readonly { readonly name: string; readonly score: number }[];
  /** Candidates below a minimum score, with the first benchmark in which they are. */
  readonly leftOut: readonly {
    readonly name: string;
    readonly benchmark: string;
    readonly score: number;
    readonly atLeast: number;
  }[];
}

/**
 * Chooses checkpoints that balance score and diversity (paper §3.1; the rule is ours). The first has the best score.
 * Each further checkpoint has the highest `score + balance·distance`, both standardised, where distance is to the
 * nearest task vector already chosen. Ties are broken by order.
 *
 * @throws SELECTION_INVALID for too few candidates, duplicate names, NaN scores, different benchmarks, or a
 * missing distance
 */
export const selectCheckpoints = ({
  candidates: given,
  distances,
  count = 3,
  balance = 1,
  weights: weightOf,
  atLeast = {},
}: SelectionInput): Selection => {
  checkNumbers(count, balance);
  checkCount(given.length, count);
  checkCandidates(given);
  const leftOut = given.flatMap((candidate) => shortfallOf(candidate, atLeast) ?? []);
  const out = new Set(leftOut.map(({ name }) => name));
  const candidates = given.filter(({ name }) => !out.has(name));
  checkCount(candidates.length, count, leftOut);
  const distanceOf = distancesOf(candidates, distances);
  const columns = Object.keys(itemAt(candidates, 0).scores)
    .map((benchmark) => ({
      benchmark,
      weight: weightOf === undefined ? 1 : (ownValue(weightOf, benchmark) ?? 0),
    }))
    .filter(({ weight }) => weight > 0)
    .map(({ benchmark, weight }) => ({
      weight,
      scores: standardised(candidates.map((candidate) => candidate.scores[benchmark] as number)),
    }));
  const total = columns.reduce((sum, { weight }) => sum + weight, 0);
  const scores = candidates.map(
    (_, at) => columns.reduce((sum, column) => sum + column.weight * itemAt(column.scores, at), 0) / total,
  );
  const pairs = candidates.flatMap((_, a) => candidates.slice(a + 1).map((_, b) => distanceOf(a, a + 1 + b)));
  const [center, spread] = [mean(pairs), deviation(pairs)];
  const chosen: number[] = [];
  const selected: SelectedCheckpoint[] = [];
  while (chosen.length < count) {
    const ranked = candidates
      .map((_, at) => at)
      .filter((at) => !chosen.includes(at))
      .map((at) => {
        const distance =
          chosen.length === 0 ? null : Math.min(...chosen.map((other) => distanceOf(at, other)));
        const diversity = distance === null ? null : spread === 0 ? 0 : (distance - center) / spread;
        const score = itemAt(scores, at);
        return {
          at,
          name: itemAt(candidates, at).name,
          score,
          distance,
          diversity,
          value: score + balance * (diversity ?? 0),
        };
      })
      .sort((a, b) => b.value - a.value);
    const { at, ...best } = itemAt(ranked, 0);
    const next = ranked[1];
    chosen.push(at);
    selected.push({ ...best, next: next === undefined ? null : { name: next.name, value: next.value } });
  }
  return {
    chosen: selected,
    balance,
    scores: candidates.map(({ name }, at) => ({ name, score: itemAt(scores, at) })),
    leftOut,
  };
};

const shortfallOf = (
  { name, scores }: SelectionCandidate,
  atLeast: Readonly<Record<string, number>>,
): Selection['leftOut'][number] | undefined => {
  for (const [benchmark, least] of Object.entries(atLeast)) {
    const score = ownValue(scores, benchmark);
    // Tolerates rounding errors: 1.1 + 0.1 exceeds 1.2 in binary.
    if (score !== undefined && score < least - 1e-9 * Math.abs(least))
      return { name, benchmark, score, atLeast: least };
  }
  return undefined;
};

const checkNumbers = (count: number, balance: number): void => {
  if (!Number.isSafeInteger(count) || count < 1)
    throw invalidParameter('count', count, 'a whole number, 1 or more');
  if (typeof balance !== 'number' || !(balance >= 0) || !Number.isFinite(balance))
    throw invalidParameter('balance', balance, 'a number, 0 or more');
};

const checkCount = (candidates: number, count: number, leftOut: Selection['leftOut'] = []): void => {
  if (candidates >= count) return;
  const out = leftOut.map(({ name, benchmark }) => `${name} in ${benchmark}`).join(', ');
  throw invalidSelection(
    `${candidates} candidates for ${count} choices${out === '' ? '' : `; below ${optionName('atLeast')}: ${out}`}`,
    `give scores of more checkpoints, or a smaller ${optionName('count')}${out === '' ? '' : ` or ${optionName('atLeast')}`}`,
  );
};

const checkCandidates = (candidates: readonly SelectionCandidate[]): void => {
  const names = new Set<string>();
  const benchmarks = Object.keys(itemAt(candidates, 0).scores).sort().join(', ');
  for (const { name, scores } of candidates) {
    if (names.has(name))
      throw invalidSelection(`${name} has scores twice`, 'give each checkpoint one name and one line');
    names.add(name);
    const own = Object.keys(scores).sort().join(', ');
    if (own !== benchmarks)
      throw invalidSelection(
        `${name} has scores in ${own || 'nothing'}, others in ${benchmarks}`,
        'give every checkpoint a score in the same benchmarks',
      );
    for (const [benchmark, score] of Object.entries(scores))
      if (typeof score !== 'number' || !Number.isFinite(score))
        throw invalidSelection(
          `${name} has ${JSON.stringify(score)} as its score in ${benchmark}`,
          'give a number',
        );
  }
  if (benchmarks === '') throw invalidSelection('there are no scores', 'give a column of scores');
};

/** @throws SELECTION_INVALID for missing or duplicate pairs */
const distancesOf = (
  candidates: readonly SelectionCandidate[],
  distances: readonly SelectionDistance[],
): ((a: number, b: number) => number) => {
  const key = (a: string, b: string) => JSON.stringify([a, b].sort());
  const known = new Map<string, number>();
  for (const { pair, distance } of distances) {
    if (known.has(key(...pair)))
      throw invalidSelection(`${pair.join(' and ')} have two distances`, 'analyze the experts again');
    known.set(key(...pair), distance);
  }
  for (const [index, { name: a }] of candidates.entries())
    for (const { name: b } of candidates.slice(index + 1)) {
      const distance = known.get(key(a, b));
      if (distance === undefined || !Number.isFinite(distance))
        throw invalidSelection(
          `${a} and ${b} have no distance`,
          `analyze all checkpoints together: ${layerloomCommand('analyze', '--base', 'BASE', 'CHECKPOINT...', '-o', 'DIR')}`,
        );
    }
  return (a, b) => valueAt(known, key(itemAt(candidates, a).name, itemAt(candidates, b).name));
};

const mean = (values: readonly number[]): number =>
  values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;

/** Population standard deviation (divided by n). */
const deviation = (values: readonly number[]): number => {
  const center = mean(values);
  return Math.sqrt(mean(values.map((value) => (value - center) ** 2)));
};

const standardised = (values: readonly number[]): number[] => {
  const [center, spread] = [mean(values), deviation(values)];
  return values.map((value) => (spread === 0 ? 0 : (value - center) / spread));
};
