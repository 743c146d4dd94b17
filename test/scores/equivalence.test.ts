import { describe, expect, it } from 'vitest';
import { equivalenceOf } from '../../src/study/scores/comparing/equivalence.js';
import {
  meanOfPaired,
  type PairedScores,
  pairColumns,
  pairRows,
} from '../../src/study/scores/intervals/paired-scores.js';
import type { Scaled } from '../../src/study/scores/intervals/scaled.js';
import { tAbove } from '../../src/study/scores/intervals/student.js';
import type { Column } from '../../src/study/scores/reading/align.js';
import { constructedResult, exactMatch, outcomes, seeded } from '../fixtures/scored.js';

const column = (scores: readonly number[]): Column => ({
  sums: Float64Array.from(scores),
  weights: new Float64Array(scores.length).fill(1),
});

const means = {
  aggregate: { of: (sum: number, weight: number) => sum / weight, isMean: true },
  isBinary: true,
  range: [0, 1] as const,
};

const onePair = (a: readonly number[], b: readonly number[]): PairedScores =>
  pairColumns({ columns: [column(a)], isOnePair: true }, { columns: [column(b)], isOnePair: true }, means);

const gammaLog = (x: number): number => {
  // Stirling's series for an argument shifted to above 20.
  let [at, less] = [x, 0];
  while (at < 20) {
    less += Math.log(at);
    at += 1;
  }
  const series = 1 / (12 * at) - 1 / (360 * at ** 3) + 1 / (1260 * at ** 5);
  return (at - 0.5) * Math.log(at) - at + 0.5 * Math.log(2 * Math.PI) + series - less;
};

/** The probability that Student's t exceeds `t`: its density, integrated by Simpson's rule over t = tan θ. */
const tail = (t: number, df: number): number => {
  const factor = Math.exp(gammaLog((df + 1) / 2) - gammaLog(df / 2)) / Math.sqrt(df * Math.PI);
  const density = (angle: number): number =>
    (factor * (1 + Math.tan(angle) ** 2 / df) ** (-(df + 1) / 2)) / Math.cos(angle) ** 2;
  const [from, to, steps] = [Math.atan(t), Math.PI / 2 - 1e-9, 20_000];
  const width = (to - from) / steps;
  let sum = density(from) + density(to);
  for (let at = 1; at < steps; at += 1) sum += (at % 2 === 1 ? 4 : 2) * density(from + at * width);
  return (sum * width) / 3;
};

describe('two one-sided tests', () => {
  it('of several models agree with Student’s t of the closed form', () => {
    for (const [right, others, margin] of [
      [80, 78, 0.05],
      [80, 70, 0.05],
      [120, 120, 0.1],
      [75, 90, 0.02],
    ] as const) {
      const [a, b] = [
        [3, 5].map((seed) => outcomes(right, 250, seed)),
        [4, 6].map((seed) => outcomes(others, 250, seed)),
      ] as const;
      const paired = pairColumns({ columns: a.map(column) }, { columns: b.map(column) }, means);
      const at = (problem: number, of: readonly (readonly number[])[]) =>
        of.reduce((sum, scores) => sum + (scores[problem] as number) / of.length, 0);
      const differences = [
        ...Array.from({ length: 250 }, (_, problem) => at(problem, a) - at(problem, b)),
        1,
        -1,
      ];
      const n = differences.length;
      const mean = differences.reduce((sum, own) => sum + own, 0) / n;
      const variance = differences.reduce((sum, own) => sum + (own - mean) ** 2, 0) / (n - 1);
      const stderr = Math.sqrt(variance / n);
      const expected = Math.max(
        tail((mean + margin) / stderr, n - 1),
        1 - tail((mean - margin) / stderr, n - 1),
      );
      const found = equivalenceOf(paired, margin);
      // Without experts the degrees of freedom are those of the problems.
      expect(found?.p).toBeCloseTo(expected, 7);
      expect(equivalenceOf(paired, found?.smallest ?? 0)?.p).toBeCloseTo(0.05, 9);
      expect(tail((found?.reach ?? 0) / stderr, n - 1)).toBeCloseTo(0.05, 7);
    }
    expect(tAbove(2.015048, 5)).toBeCloseTo(0.05, 6);
  });

  it('of one model against one have the variance of the most likely problems at the margin', () => {
    const [a, b] = [outcomes(80, 250, 3), outcomes(76, 250, 4)];
    const margin = 0.06;
    const wins = a.filter((own, at) => own > (b[at] as number)).length;
    const losses = a.filter((own, at) => own < (b[at] as number)).length;
    // Searches the likelihood of wins and losses for its maximum over the share of losses.
    let [most, best] = [Number.NEGATIVE_INFINITY, 0];
    for (let lost = 1e-6; lost < (1 - margin) / 2; lost += 1e-6) {
      const likelihood =
        wins * Math.log(lost + margin) +
        losses * Math.log(lost) +
        (250 - wins - losses) * Math.log(1 - margin - 2 * lost);
      if (likelihood > most) [most, best] = [likelihood, lost];
    }
    const stderr = Math.sqrt((2 * best + margin * (1 - margin)) / 250);
    const expected = tail((margin - (wins - losses) / 250) / stderr, 249);
    expect(equivalenceOf(onePair(a, b), margin)?.p).toBeCloseTo(expected, 5);
    // The order of both does not matter.
    expect(equivalenceOf(onePair(b, a), margin)?.p).toBeCloseTo(expected, 5);
  });

  it('say what is equivalent, what is not shown, and what no difference could show', () => {
    const same = outcomes(80, 250, 3);
    const other = outcomes(80, 250, 4);
    expect(equivalenceOf(onePair(same, same), 0.02)?.verdict).toBe('equivalent');
    expect(equivalenceOf(onePair(same, other), 0.02)?.verdict).toBe('out of reach');
    expect(equivalenceOf(onePair(same, outcomes(95, 250, 4)), 0.08)?.verdict).toBe('not shown');
    expect(equivalenceOf(onePair(same, other), 0.2)?.verdict).toBe('equivalent');
  });

  it('do not take few problems for none that differ', () => {
    const same = outcomes(10, 30, 3);
    expect(equivalenceOf(onePair(same, same), 0.02)).toMatchObject({ verdict: 'out of reach' });
  });

  it('have nothing to say where scores are no shares and never differ', () => {
    const scores = { ...onePair([1, 0], [1, 0]), isBinary: false };
    expect(equivalenceOf(scores, 0.02)).toBeUndefined();
  });
});

interface Design {
  readonly experts: number;
  readonly languages?: number;
  readonly problems: number;
  readonly effects: number;
  /** Share of problems on which both sides give the same answer by the same luck. */
  readonly alike: number;
}

const study = (
  { experts, languages: fewer = experts, problems, effects, alike }: Design,
  margin: number,
  seed: number,
  language = seed,
): PairedScores => {
  let random = seeded(seed);
  const gauss = (deviation: number) =>
    deviation * Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const own = (length: number) => Array.from({ length }, () => gauss(effects / 100));
  const levels = Array.from({ length: problems }, () => 0.2 + 0.5 * random());
  const shared = levels.map(() => random());
  const ofTask = own(experts);
  random = seeded(1e6 * language);
  // A given expert adds nothing to the true difference of its pairs.
  const ofLanguage = fewer > 1 ? own(fewer) : [0];
  const [a, b, tasks, languages]: [Column[], Column[], string[], string[]] = [[], [], [], []];
  for (const [t, task] of ofTask.entries())
    for (const [l, expert] of ofLanguage.entries()) {
      const luck = shared.map((of) => (random() < 0.5 ? of : random()));
      b.push(column(levels.map((level, at) => ((luck[at] as number) < level ? 1 : 0))));
      a.push(
        column(
          levels.map((level, at) => {
            const chance = level + margin + task + expert;
            return (random() < alike ? (luck[at] as number) : random()) < chance ? 1 : 0;
          }),
        ),
      );
      tasks.push(`task-${t}`);
      languages.push(`language-${language}-${l}`);
    }
  const sampling =
    experts === 1
      ? undefined
      : [
          { kind: 'task experts' as const, labels: tasks },
          ...(fewer > 1 ? [{ kind: 'language experts' as const, labels: languages }] : []),
        ];
  return pairColumns({ columns: a, sampling }, { columns: b, sampling }, means);
};

const studies = 600;

const claims = (make: (seed: number) => PairedScores, margin: number): number => {
  let count = 0;
  for (let seed = 1; seed <= studies; seed += 1)
    if (equivalenceOf(make(seed), margin)?.verdict === 'equivalent') count += 1;
  return (100 * count) / studies;
};

/** 5 % and three standard errors of a share of that many studies. */
const most = 5 + 300 * Math.sqrt((0.05 * 0.95) / studies);

describe('false claims of equivalence', () => {
  it.each([
    { experts: 1, problems: 250, effects: 0, alike: 0.9 },
    { experts: 1, problems: 50, effects: 0, alike: 0.9 },
    { experts: 2, problems: 250, effects: 0, alike: 0.9 },
    { experts: 2, problems: 250, effects: 1.2, alike: 0.9 },
    { experts: 3, problems: 250, effects: 0, alike: 0.9 },
    { experts: 3, problems: 250, effects: 0.6, alike: 0.9 },
    { experts: 3, problems: 250, effects: 1.2, alike: 0.9 },
    { experts: 3, problems: 250, effects: 2.4, alike: 0.9 },
    { experts: 3, problems: 50, effects: 1.2, alike: 0.99 },
    { experts: 3, languages: 1, problems: 250, effects: 0, alike: 0.9 },
    { experts: 3, languages: 1, problems: 250, effects: 1.2, alike: 0.9 },
  ])(
    'are at most 5 in 100: $experts experts of a kind, $problems problems, effects of $effects, $alike alike',
    (design) => {
      for (const margin of [0.03, 0.08]) {
        const rate = claims((seed) => study(design, margin, seed), margin);
        expect(rate).toBeLessThan(most);
      }
    },
  );

  it('are at most 5 in 100 of rare problems that only one side solves', () => {
    for (const [problems, margin] of [
      [50, 0.02],
      [50, 0.06],
      [250, 0.02],
      [1000, 0.01],
    ] as const) {
      const rare = (seed: number): PairedScores => {
        const random = seeded(seed);
        const a = Array.from({ length: problems }, () => (random() < margin ? 1 : 0));
        return onePair(
          a,
          a.map(() => 0),
        );
      };
      const rate = claims(rare, margin);
      expect(rate).toBeLessThan(most);
    }
  });

  it('are at most 5 in 100 of a mean over languages, of which problems and task experts are the same', () => {
    const design = { experts: 3, problems: 250, effects: 1.2, alike: 0.9 };
    const margin = 0.03;
    const rate = claims((seed) => {
      const parts = [1, 2, 3].map((language) => study(design, margin, seed, 3 * seed + language));
      return meanOfPaired(parts) as PairedScores;
    }, margin);
    expect(rate).toBeLessThan(most);
  });

  it('leave power: equals are claimed where the problems are enough', () => {
    const equal = { experts: 3, problems: 250, effects: 0, alike: 0.9 };
    const rate = claims((seed) => study(equal, 0, seed), 0.05);
    expect(rate).toBeGreaterThan(80);
  });
});

const numbersOf = ({ values, divisor }: Scaled): number[] => Array.from(values, (value) => value / divisor);

describe('a mean over languages', () => {
  const results = (seed: number) =>
    [80, 70].map((right, at) =>
      constructedResult({ model: `m${at}`, scores: outcomes(right, 250, seed + at) }),
    );
  const [a, b] = results(3);
  const row = (result: typeof a) => ({ results: result === undefined ? [] : [result] });
  const paired = pairRows(row(a), row(b), exactMatch) as PairedScores;

  it('of the same answers in each is that of one: translations are not independent', () => {
    const mean = meanOfPaired([paired, paired, paired]);
    expect(mean && numbersOf(mean.byProblem)).toEqual(numbersOf(paired.byProblem));
    expect(mean?.estimand).toBe('these models only, problems like these, in these languages');
  });

  it('is not tested where the numbers of problems differ, or there are none', () => {
    const { values, divisor } = paired.byProblem;
    const fewer = { ...paired, byProblem: { values: values.slice(1), divisor } };
    expect(meanOfPaired([paired, fewer])).toBeUndefined();
    const bare = constructedResult({ scores: [], value: 0.3, changes: { n: 250 } });
    expect(pairRows(row(bare), row(a), exactMatch)).toBeUndefined();
  });
});
