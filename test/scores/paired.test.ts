import { describe, expect, it } from 'vitest';
import type { LayerloomError } from '../../src/core/base/errors/errors.js';
import type { EvaluationResult, ProblemScore } from '../../src/study/evaluation/result.js';
import { chooseOnHalf } from '../../src/study/scores/comparing/choose-on-half.js';
import { comparePaired, comparePooled, holm, mcnemarExact } from '../../src/study/scores/comparing/paired.js';
import { constructedResult, exactMatch, outcomes, seeded } from '../fixtures/scored.js';

const pair = (both: number, onlyA: number, onlyB: number): [EvaluationResult, EvaluationResult] => {
  const of = (from: number, to: number, shared: number) =>
    Array.from({ length: 250 }, (_, at) => ((at >= from && at < to) || at >= 250 - shared ? 1 : 0));
  return [
    constructedResult({ model: 'a', scores: of(0, onlyA, both) }),
    constructedResult({ model: 'b', scores: of(onlyA, onlyA + onlyB, both) }),
  ];
};

const refusal = (a: EvaluationResult, b: EvaluationResult): string => {
  try {
    comparePaired(a, b, exactMatch);
  } catch (error) {
    expect(error).toMatchObject({ code: 'RESULTS_NOT_PAIRED', exitCode: 3 });
    return (error as LayerloomError).message;
  }
  throw new Error('it was compared');
};

describe('a paired comparison', () => {
  // scipy 1.17's binomtest and statsmodels 0.15's mcnemar(exact=True), which agree; test/peers/scores.test.ts
  // runs them.
  it.each([
    [0, 0, 1],
    [1, 0, 1],
    [5, 0, 0.0625],
    [12, 3, 0.03515625],
    [20, 11, 0.14961278438568115],
    [30, 30, 1],
    [41, 17, 0.0022325516199429235],
    [83, 57, 0.03423566187319538],
  ])('of %i and %i discordant problems has the p-value of McNemar’s exact test', (onlyA, onlyB, p) => {
    expect(mcnemarExact(onlyA, onlyB)).toBeCloseTo(p, 12);
    expect(mcnemarExact(onlyB, onlyA)).toBeCloseTo(p, 12);
  });

  it('counts the problems that only one model solves', () => {
    const compared = comparePaired(...pair(60, 30, 12), exactMatch);
    expect(compared).toMatchObject({ n: 250, onlyA: 30, onlyB: 12, test: 'mcnemar', reason: undefined });
    expect(compared.difference).toBeCloseTo(18 / 250, 12);
    expect(compared.p).toBeCloseTo(mcnemarExact(30, 12), 15);
  });

  it('has the interval of Bonett and Price', () => {
    const { interval } = comparePaired(...pair(60, 30, 12), exactMatch);
    // 31 and 13 of 252: 18 / 252 ∓ 1.959964 √((44 / 252 − (18 / 252)²) / 252). A bootstrap has [0.024,
    // 0.124].
    expect(interval).toEqual([expect.closeTo(0.020597, 6), expect.closeTo(0.12226, 6)]);
  });

  it('turns its sign with the models', () => {
    const [a, b] = pair(60, 30, 12);
    const once = comparePaired(a, b, exactMatch);
    const turned = comparePaired(b, a, exactMatch);
    expect(turned.interval?.map((bound) => -bound)).toEqual([...(once.interval ?? [])].reverse());
  });

  it('finds the problems in any order', () => {
    const [a, b] = pair(60, 30, 12);
    const turned = { ...b, problems: [...b.problems].reverse() };
    expect(comparePaired(a, turned, exactMatch)).toEqual(comparePaired(a, b, exactMatch));
  });

  it('tells apart, by their rows, problems that a task has twice', () => {
    const twice = (result: EvaluationResult): EvaluationResult => ({
      ...result,
      problems: result.problems.map((problem) => ({
        ...problem,
        document: 'same',
        prompt: 'p',
        target: 't',
      })),
    });
    const [a, b] = pair(60, 30, 12);
    expect(comparePaired(twice(a), twice(b), exactMatch)).toEqual(comparePaired(a, b, exactMatch));
  });

  it('of perplexities resamples sums and weights, without McNemar’s test', () => {
    const of = (model: string, sums: readonly number[]) =>
      constructedResult({
        model,
        scores: sums.map((sum, at) => [sum, at + 11] as const),
        metric: 'byte_perplexity,none',
        value: Math.exp(-sums.reduce((x, y) => x + y, 0) / sums.reduce((x, _, at) => x + at + 11, 0)),
        higherIsBetter: false,
      });
    const at = Array.from({ length: 40 }, (_, index) => index);
    const [a, b] = [
      of(
        'a',
        at.map((k) => -2 * ((k % 7) + 10)),
      ),
      of(
        'b',
        at.map((k) => -2 * ((k % 5) + 11)),
      ),
    ];
    const compared = comparePaired(a, b, 'byte_perplexity,none');
    expect(compared).toMatchObject({ n: 40, onlyA: undefined, test: 't', higherIsBetter: false });
    // numpy, and scipy.stats.bootstrap(paired=True) with 200,000 resamples.
    expect(compared.difference).toBeCloseTo(-0.01914607415044811, 12);
    expect(compared.interval?.[0]).toBeCloseTo(-0.1306, 2);
    expect(compared.interval?.[1]).toBeCloseTo(0.0944, 2);
    expect(compared.p).toBeGreaterThan(0.5);
  });

  it('says why there is no test where a result has no scores by problem', () => {
    const [a, b] = pair(60, 30, 12);
    const compared = comparePaired(a, { ...b, problems: [] }, exactMatch);
    expect(compared).toMatchObject({ n: 250, p: undefined, interval: undefined, test: undefined });
    expect(compared.difference).toBeCloseTo(18 / 250, 12);
    expect(compared.reason).toBe('b has no results by problem of mgsm_direct_sw');
    expect(comparePaired(a, b, 'bleu,none').reason).toBe(
      'a has no scores by problem that add up to its bleu,none of mgsm_direct_sw',
    );
  });

  it.each<[metric: string, stated: number, scores: readonly ProblemScore[]]>([
    // scikit-learn's f1_score and matthews_corrcoef of these pairs of answer and prediction.
    ['f1,none', 2 / 3, [...Array(20).fill([1, 1]), ...Array(20).fill([1, 0]), ...Array(40).fill([0, 0])]],
    [
      'mcc,none',
      0.5773502691896258,
      [...Array(20).fill([1, 1]), ...Array(20).fill([1, 0]), ...Array(40).fill([0, 0])],
    ],
    // Two tasks of the same weight, of 20 and 40 problems: (1 + 0) / 2, where the mean is 1 / 3.
    ['acc,none', 0.5, [...Array(20).fill(1), ...Array(40).fill(0)]],
  ])('is not made of scores by problem that do not give the score: %s', (metric, value, scores) => {
    const of = (model: string) => constructedResult({ model, metric, value, scores });
    const [a, b] = [of('a'), of('b')];
    const compared = comparePaired(a, b, metric);
    expect(compared).toMatchObject({ difference: 0, interval: undefined, p: undefined });
    expect(compared.reason).toBe(`a has no scores by problem that add up to its ${metric} of mgsm_direct_sw`);
  });

  it('is refused for other problems, prompts, answers, versions, shots and tasks', () => {
    const [a, b] = pair(60, 30, 12);
    const changed = (change: object): EvaluationResult => ({
      ...b,
      problems: b.problems.map((problem) => (problem.id === 3 ? { ...problem, ...change } : problem)),
    });
    const [first, ...others] = b.problems;
    const unstated = { metrics: {} };
    expect(refusal(a, { ...b, ...unstated, problems: others })).toBe(
      'mgsm_direct_sw: a and b cannot be compared by problem: b lacks problem 0; evaluate both with the same task, shots and problems',
    );
    expect(refusal({ ...a, ...unstated, problems: a.problems.slice(1) }, b)).toContain('a lacks problem 0');
    if (first === undefined) throw new Error('no problems');
    expect(refusal(a, { ...b, ...unstated, problems: [...b.problems, first] })).toContain(
      'b has problem 0 twice',
    );
    expect(refusal(a, changed({ prompt: 'another' }))).toContain('the prompts of problem 3 differ');
    expect(refusal(a, changed({ target: '7' }))).toContain('the expected answers of problem 3 differ');
    expect(refusal(a, { ...b, taskVersion: '2.0' })).toContain('the versions of the task are 1.0 and 2.0');
    expect(refusal(a, { ...b, fewshot: 5 })).toContain('the numbers of few-shot examples are 8 and 5');
    expect(refusal(a, { ...b, task: 'mgsm_direct_te' })).toContain('mgsm_direct_sw and mgsm_direct_te');
  });
});

describe('a comparison of rows', () => {
  const random = (models: number, share: number, seed: number) =>
    Array.from({ length: models }, (_, at) =>
      constructedResult({
        model: `${seed}-${at}`,
        scores: outcomes(Math.round(share * 250), 250, seed + at),
      }),
    );

  it('is the difference of the means over models, however many each row has', () => {
    const [nine, three] = [random(9, 0.324, 1), random(3, 0.296, 50)];
    const compared = comparePooled(nine, three, exactMatch);
    expect(compared.difference).toBeCloseTo(81 / 250 - 74 / 250, 12);
    expect(compared).toMatchObject({ onlyA: undefined, onlyB: undefined, test: 't', n: 250 });
  });

  it('keeps the outcomes of a problem together: nine equal models say no more than two', () => {
    const [one, other] = [random(1, 0.4, 1), random(1, 0.3, 2)];
    const copies = (count: number) =>
      Array.from({ length: count }, (_, at) =>
        one.map((result) => ({ ...result, model: `copy ${at}` })),
      ).flat();
    const once = comparePooled(copies(2), other, exactMatch);
    const pooled = comparePooled(copies(9), other, exactMatch);
    expect(pooled.interval?.[0]).toBeCloseTo(once.interval?.[0] ?? Number.NaN, 10);
    expect(pooled.interval?.[1]).toBeCloseTo(once.interval?.[1] ?? Number.NaN, 10);
  });

  it.each([
    [1, 1],
    [2, 0.5],
    [5, 0.0625],
    [9, 0.00390625],
  ])('of rows that differ in %i problems, always the same way, is no surer than signs are', (k, p) => {
    const row = (share: number) =>
      Array.from({ length: 3 }, (_, at) =>
        constructedResult({
          model: `${share} ${at}`,
          scores: Array.from({ length: k + 3 }, (__, problem) => (problem < k ? share : 1)),
        }),
      );
    // The two-sided sign test of k of k: 2 · 2^-k.
    expect(comparePooled(row(1), row(0), exactMatch)).toMatchObject({ test: 't', n: k + 3 });
    expect(comparePooled(row(1), row(0), exactMatch).p).toBeGreaterThanOrEqual(p);
  });

  it('finds no difference of a row and itself', () => {
    const nine = random(9, 0.324, 1);
    expect(comparePooled(nine, nine, exactMatch)).toMatchObject({
      difference: 0,
      p: 1,
      interval: undefined,
      reason: 'the difference is the same on every problem',
    });
  });
});

describe('p-values of many comparisons', () => {
  it('are adjusted as by Holm', () => {
    // statsmodels 0.15, multipletests(method='holm').
    expect(holm([0.001, 0.04, 0.03, 0.5, 0.02])).toEqual(
      [0.005, 0.09, 0.09, 0.5, 0.08].map((value) => expect.closeTo(value, 12)),
    );
  });

  it('count those only that there are', () => {
    expect(holm([0.01, undefined, 0.03])).toEqual([
      expect.closeTo(0.02, 12),
      undefined,
      expect.closeTo(0.03, 12),
    ]);
    expect(holm([undefined])).toEqual([undefined]);
  });
});

describe('the best of many configurations', () => {
  /**
   * A model of each of 81 configurations, which solves every problem with the configuration's probability.
   */
  const configurations = (chanceOf: (configuration: number) => number, seed: number) => {
    const random = seeded(seed);
    return Array.from({ length: 81 }, (_, configuration) => [
      constructedResult({
        model: `configuration ${configuration}`,
        scores: Array.from({ length: 250 }, () => (random() < chanceOf(configuration) ? 1 : 0)),
      }),
    ]);
  };

  it('looks like a gain on the problems it was chosen by, and is none on others', () => {
    const choice = chooseOnHalf(
      configurations(() => 0.3, 4),
      exactMatch,
    );
    if (choice === undefined) throw new Error('no choice');
    // The expected maximum of 81 binomial shares of 250 problems is 2.4 standard errors above 0.3.
    expect(choice.onAll).toBeGreaterThan(0.3 + 1.5 * Math.sqrt((0.3 * 0.7) / 250));
    expect(Math.abs(choice.onOtherHalf - 0.3)).toBeLessThan(Math.sqrt((0.3 * 0.7) / 250));
    expect(choice.chosen.reduce((sum, times) => sum + times, 0)).toBeCloseTo(2 * choice.splits, 9);
  });

  it('keeps a gain that is one', () => {
    const choice = chooseOnHalf(
      configurations((at) => (at === 17 ? 0.5 : 0.3), 4),
      exactMatch,
    );
    expect(choice?.best).toBe(17);
    expect(choice?.chosen[17]).toBeGreaterThan(180);
    expect(choice?.onOtherHalf).toBeGreaterThan(0.42);
  });

  it('is the lowest perplexity', () => {
    const of = (model: string, each: number) => [
      constructedResult({
        model,
        scores: Array.from({ length: 20 }, () => [-each * 10, 10] as const),
        metric: 'word_perplexity,none',
        value: Math.exp(each),
        higherIsBetter: false,
      }),
    ];
    const choice = chooseOnHalf([of('a', 2), of('b', 1), of('c', 3)], 'word_perplexity,none', { splits: 4 });
    expect(choice).toMatchObject({ best: 1, chosen: [0, 8, 0] });
    expect(choice?.onOtherHalf).toBeCloseTo(Math.E, 12);
  });

  it('is not chosen on halves without results by problem', () => {
    const [[result]] = configurations(() => 0.3, 1) as [[EvaluationResult]];
    expect(chooseOnHalf([[{ ...result, problems: [] }]], exactMatch)).toBeUndefined();
  });
});
