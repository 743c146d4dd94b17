import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { boxedAnswer } from '../../src/study/evaluation/data/foldings.js';
import { passAt } from '../../src/study/evaluation/joined-scores.js';
import type { EvaluationResult, ProblemResult } from '../../src/study/evaluation/result.js';
import { ofSamples } from '../../src/study/evaluation/sampled-result.js';

const metric = 'exact_match,last';

/** @param texts the answer to each problem; the right one is `yes` */
const resultOf = (texts: readonly string[]): EvaluationResult => ({
  ...{ weights: 'w', task: 't', taskVersion: '1', promptHash: 'p', fewshot: 0, seed: '0', rows: null },
  ...{ maxTokens: null, sampling: 'temperature=1', backend: 'hf', layerloom: '0', model: 'm' },
  harness: { name: 'lm-eval', version: '0' },
  metrics: {
    [metric]: texts.filter((text) => text === 'yes').length / texts.length,
    'exact_match_stderr,last': 1,
  },
  ...{ higherIsBetter: {}, n: texts.length, texts: null, source: 'run', started: '', seconds: 1 },
  problems: texts.map(
    (text, id): ProblemResult => ({
      ...{ id, document: `d${id}`, prompt: `p${id}`, target: 't', response: text },
      scores: { [metric]: text === 'yes' ? 1 : 0 },
      answers: { last: text },
    }),
  ),
});

/** The share of all subsets of k answers that have a right one, by listing them. */
const passByListing = (right: readonly boolean[], k: number): number => {
  let [all, passed] = [0, 0];
  for (let mask = 0; mask < 2 ** right.length; mask += 1) {
    const drawn = right.filter((_, at) => (mask >> at) & 1);
    if (drawn.length !== k) continue;
    all += 1;
    if (drawn.includes(true)) passed += 1;
  }
  return passed / all;
};

describe('several answers to each problem', () => {
  it('pass at k as all subsets of k answers do', () => {
    for (let n = 1; n <= 8; n += 1)
      for (let c = 0; c <= n; c += 1)
        for (let k = 1; k <= n; k += 1) {
          const right = Array.from({ length: n }, (_, at) => at < c);
          expect(passAt(k, n, c)).toBeCloseTo(passByListing(right, k), 12);
        }
  });

  it('have no vote where a problem lacks an answer', () => {
    const runs = ['yes', 'no', 'yes'].map((text) => resultOf(['yes', text]));
    const { problems } = runs[2] as EvaluationResult;
    const lacking = [
      runs[0],
      runs[1],
      { ...runs[2], problems: [problems[0], { ...problems[1], answers: {} }] },
    ];
    const joined = ofSamples(lacking as EvaluationResult[]) as EvaluationResult;
    expect(Object.keys(joined.metrics).filter((name) => name.startsWith('maj'))).toEqual([]);
    expect(joined.metrics['pass@3,last']).toBe(1);
    expect(Object.keys((ofSamples(runs) as EvaluationResult).metrics)).toContain('maj@3,last');
  });

  it.each(['constructor', 'toString', '__proto__'])('lack a metric %s that only one problem has', (name) => {
    const withMore = resultOf(['yes', 'no']);
    const [first, second] = withMore.problems as [ProblemResult, ProblemResult];
    const scores = JSON.parse(`{"${metric}": 1, "${name}": 1}`);
    const result = { ...withMore, problems: [{ ...first, scores }, second] };
    const joined = ofSamples([result, result]) as EvaluationResult;
    expect(joined.metrics[metric]).toBe(0.5);
    expect(joined.problems[1]?.scores[metric]).toBe(0);
  });

  it('have the mean of their scores, with its error over problems', () => {
    const text = fc.constantFrom('yes', 'no', '[invalid]');
    fc.assert(
      fc.property(
        fc.array(fc.array(text, { minLength: 4, maxLength: 4 }), { minLength: 2, maxLength: 6 }),
        (all) => {
          const joined = ofSamples(all.map(resultOf)) as EvaluationResult;
          const means = [0, 1, 2, 3].map((id) => all.filter((of) => of[id] === 'yes').length / all.length);
          const mean = means.reduce((a, b) => a + b) / 4;
          expect(joined.problems.map(({ scores }) => scores[metric])).toEqual(
            means.map((one) => expect.closeTo(one, 12)),
          );
          expect(joined.metrics[metric]).toBeCloseTo(mean, 12);
          const variance = means.reduce((sum, one) => sum + (one - mean) ** 2, 0) / 3;
          expect(joined.metrics['exact_match_stderr,last']).toBeCloseTo(Math.sqrt(variance / 4), 12);
          const any = [0, 1, 2, 3].map((id) => Number(all.some((of) => of[id] === 'yes')));
          expect(joined.metrics[`pass@${all.length},last`]).toBeCloseTo(any.reduce((a, b) => a + b) / 4, 12);
        },
      ),
    );
  });

  it.each([
    [['yes', 'yes', 'no'], 1],
    [['no', 'no', 'yes'], 0],
    [['no', 'yes'], 0.5],
    [['no', 'other', 'yes'], 1 / 3],
    [['yes', '[invalid]', '[invalid]'], 1],
    [['[invalid]', ''], 0],
  ])('vote %j', (texts, expected) => {
    const joined = ofSamples(texts.map((text) => resultOf([text, text])));
    expect(joined?.metrics[`maj@${texts.length},last`]).toBeCloseTo(expected, 12);
  });

  it.each([
    ['mgsm_direct_sw', 1],
    ['layerloom_mgsm_sw', 1],
    // Nothing says by which rule its texts are equal, so no vote is counted.
    ['riddles', undefined],
  ])('count answers of %s that its metric calls equal as one', (task, expected) => {
    const right = { [metric]: 1 };
    const joined = ofSamples(
      ['$18', '18.', '20', '20', '1,8'].map((text, at) => {
        const of = resultOf([text]);
        const problems = of.problems.map((problem) =>
          at === 2 || at === 3 ? problem : { ...problem, scores: right },
        );
        return { ...of, task, problems };
      }),
    );
    expect(joined?.metrics['maj@5,last']).toBe(expected);
  });

  it("vote by the answer that AIME's metric reads in a response", () => {
    const voteOf = (texts: readonly string[], right: string) => {
      const of = texts.map((text): EvaluationResult => {
        const score = boxedAnswer(text) === right ? 1 : 0;
        const [problem] = resultOf(['']).problems as [ProblemResult];
        const scores = { 'exact_match,none': score };
        return {
          ...resultOf(['']),
          task: 'aime25',
          problems: [{ ...problem, scores, answers: { none: text }, response: text }],
        };
      });
      return ofSamples(of)?.metrics[`maj@${texts.length},none`];
    };
    const texts = ['So it is $\\boxed{70}$.', 'First 2, then \\boxed{70}', '\\boxed{588}', 'I do not know'];
    expect(voteOf(texts, '70')).toBe(1);
    expect(voteOf(texts, '588')).toBe(0);
  });

  it.each([
    ['Thus \\boxed{\\boxed{1}} and \\boxed{2{3}4}.', '2{3}4'],
    ['\\boxed 12$ and', '12'],
    ['between $a$ and $x = 049$', 'a$and$x=049'],
    ['$n=49$', '49'],
    ['\\boxed{70^\\circ}', '70'],
    ['\\boxed{70\\text{ cm}}', '70'],
    [' 70\n', '70'],
    ['It is 70.', ''],
    ['\\boxed{70', ''],
  ])('read %j as %j', (response, answer) => {
    expect(boxedAnswer(response)).toBe(answer);
  });

  it('are of the same problems and prompts', () => {
    const [one, two] = [resultOf(['yes', 'no']), resultOf(['yes', 'no'])];
    const [first, ...others] = two.problems as [ProblemResult, ...ProblemResult[]];
    expect(ofSamples([one, two])).toBeDefined();
    expect(ofSamples([one, { ...two, problems: others }])).toBeUndefined();
    expect(
      ofSamples([one, { ...two, problems: [{ ...first, prompt: 'other' }, ...others] }]),
    ).toBeUndefined();
    expect(ofSamples([one])).toBe(one);
  });
});
