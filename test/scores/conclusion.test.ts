import { describe, expect, it } from 'vitest';
import {
  type ComparedFacts,
  conclude,
  fewestProblems,
  sentenceOf,
  whyNoBest,
} from '../../src/study/scores/comparing/conclusion.js';
import { mcnemarExact } from '../../src/study/scores/comparing/paired.js';
import { exactMatch, seeded } from '../fixtures/scored.js';

const facts: ComparedFacts = {
  metric: exactMatch,
  higherIsBetter: true,
  n: 250,
  scores: [0.32, 0.28],
  difference: 0.04,
  interval: [0.01, 0.07],
  p: 0.012,
};

const verdictOf = (more: Partial<ComparedFacts>) => conclude({ ...facts, ...more }).verdict;

const said = (more: Partial<ComparedFacts>) =>
  sentenceOf(conclude({ ...facts, ...more }), 'The choice', 'the default');

describe('a conclusion', () => {
  it('needs an interval without 0 and a p-value below 5 %, as far as there are both', () => {
    expect(verdictOf({})).toBe('better');
    expect(verdictOf({ interval: [-0.01, 0.09] })).toBe('within noise');
    expect(verdictOf({ p: 0.05 })).toBe('within noise');
    expect(verdictOf({ interval: undefined })).toBe('better');
    expect(verdictOf({ p: undefined })).toBe('better');
    expect(verdictOf({ interval: null, p: null })).toBe('not tested');
    expect(verdictOf({ difference: -0.04, interval: [-0.07, -0.01] })).toBe('worse');
  });

  it('has the direction of the metric in its sentence', () => {
    const perplexity = {
      metric: 'byte_perplexity,none',
      higherIsBetter: false,
      n: 80,
      scores: [3.086, 3],
      difference: 0.086,
      interval: [0.043, 0.138],
      p: 0.016,
    } as const;
    expect(said(perplexity)).toBe(
      'The choice is worse than the default: +0.086 byte perplexity, lower is better, 95 % interval +0.043 to +0.138, p = 0.016, 80 problems.',
    );
    expect(said({ ...perplexity, difference: -0.086, interval: [-0.138, -0.043] })).toMatch(
      /^The choice is better than the default: −0\.086 byte perplexity, lower is better,/,
    );
    expect(said({})).toMatch(/better than the default: \+4\.0 points, higher is better,/);
  });

  it('says nothing of few problems, and how many there are', () => {
    expect(verdictOf({ n: fewestProblems })).toBe('better');
    expect(verdictOf({ n: fewestProblems - 1 })).toBe('too few problems');
    expect(said({ n: 2 })).toBe(
      'The choice cannot be compared with the default: too few problems to say (2 problems, at least 30 are needed).',
    );
  });

  it('says nothing where both sides solve nothing, or everything', () => {
    const equal = { difference: 0, interval: [0, 0], p: 1 } as const;
    expect(verdictOf({ ...equal, scores: [0, 0] })).toBe('at floor');
    expect(verdictOf({ ...equal, scores: [1, 1] })).toBe('at ceiling');
    expect(verdictOf({ ...equal, scores: [0.3, 0.3] })).toBe('within noise');
    // The mean over nine pairs, with a single problem solved by one of them.
    expect(verdictOf({ ...equal, scores: [1 / 9 / 250, 0] })).toBe('at floor');
    expect(verdictOf({ ...equal, metric: 'bleu,none', scores: [0.01, 0] })).toBe('at floor');
    expect(verdictOf({ ...equal, metric: 'byte_perplexity,none', scores: [0.001, 0.001] })).toBe(
      'within noise',
    );
    expect(said({ ...equal, scores: [0, 0] })).toBe(
      'The choice and the default are both at the floor of the metric, so they cannot be compared: 0.0 and 0.0, 250 problems.',
    );
  });

  it('asks more of a side that was chosen by its score, and of that side alone', () => {
    expect(verdictOf({ candidates: { first: 4 } })).toBe('better');
    expect(verdictOf({ candidates: { first: 5 } })).toBe('chosen among many');
    expect(verdictOf({ candidates: { second: 81 } })).toBe('better');
    // The p-value accounts for the choice.
    expect(verdictOf({ candidates: { first: 81 }, test: 'bootstrap' })).toBe('better');
    expect(verdictOf({ candidates: { first: 2 }, p: undefined })).toBe('chosen among many');
    const worse = { difference: -0.04, interval: [-0.07, -0.01] } as const;
    expect(verdictOf({ ...worse, candidates: { first: 81 } })).toBe('worse');
    expect(verdictOf({ ...worse, candidates: { second: 81 } })).toBe('chosen among many');
    expect(said({ candidates: { first: 81 } })).toMatch(
      /^The choice is not shown to differ .* p = 0\.012, 250 problems, chosen among 81 on them\.$/,
    );
  });

  it.each([1, 4, 81])('is false of at most 6 % of equals, the best of %i', (candidates) => {
    const [n, trials] = [250, 1000];
    const random = seeded(candidates);
    const draw = () => Float64Array.from({ length: n }, () => (random() < 0.3 ? 1 : 0));
    const sum = (of: Float64Array) => of.reduce((total, value) => total + value, 0);
    let claims = 0;
    for (let trial = 0; trial < trials; trial += 1) {
      const standard = draw();
      const all = Array.from({ length: candidates }, draw);
      const best = all.reduce((a, b) => (sum(b) > sum(a) ? b : a));
      const only = (a: Float64Array, b: Float64Array) =>
        a.reduce((total, value, at) => total + (value > (b[at] as number) ? 1 : 0), 0);
      const scores = [sum(best) / n, sum(standard) / n] as const;
      const { verdict } = conclude({
        ...{ metric: exactMatch, higherIsBetter: true, n, scores, candidates: { first: candidates } },
        difference: scores[0] - scores[1],
        p: mcnemarExact(only(best, standard), only(standard, best)),
      });
      if (verdict === 'better' || verdict === 'worse') claims += 1;
    }
    expect(claims / trials).toBeLessThanOrEqual(0.06);
  });
});

describe('a best of several', () => {
  const why = (scores: readonly number[], n: number | undefined = 250) =>
    whyNoBest({ metric: exactMatch, n, scores });

  it('is there where problems tell the scores apart', () => {
    expect(why([0.3, 0.4])).toBeUndefined();
    expect(why([0.3, 0.4], 29)).toBe('too few problems to say (29 problems, at least 30 are needed)');
    expect(why([0, 0])).toMatch(/^all are at the floor of the metric/);
    expect(why([1, 1])).toMatch(/^all are at the ceiling of the metric/);
    expect(why([0.3, 0.3])).toBe('all are equal (250 problems)');
    expect(why([0.3])).toBeUndefined();
  });

  it('is there in published figures, of which the number of problems is not known', () => {
    expect(whyNoBest({ metric: exactMatch, n: undefined, scores: [0.3, 0.4] })).toBeUndefined();
  });
});
