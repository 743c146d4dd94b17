import { describe, expect, it } from 'vitest';
import { describeSearch } from '../../src/cli/text/studies/search-text.js';
import { drawPicture } from '../../src/study/pages/pictures/draw-picture.js';
import { SearchPicture } from '../../src/study/pages/pictures/search.js';
import type { SearchRecord } from '../../src/study/search/run-search.js';
import { searchSpace } from '../../src/study/search/search.js';
import type { HeldOutComparison } from '../../src/study/search/space/landscape.js';
import { landscapeOf, paperSpace, shapes } from '../search/landscapes.js';

const space = paperSpace();

const drawSearch = (search: SearchRecord): string => drawPicture(SearchPicture, { search });

const searched = async () => {
  const landscape = landscapeOf(space, { shape: shapes.hill, shared: 0.9, seed: 4 });
  const parameters = { problems: 250, holdOut: 80, budget: 5062, seed: 4 };
  return {
    ...(await searchSpace(space, landscape, parameters)),
    language: '<swahili>',
    task: 'constructed',
    metric: 'exact_match,flexible-extract',
    pairs: ['math-1+swh-1'],
    startedFromAnalysis: false,
    proposal: null,
    configuration: {},
    merges: [],
  };
};

describe('the picture of a search', () => {
  it('has a dot for each scored candidate of each step', async () => {
    const search = await searched();
    const svg = drawSearch(search);
    const candidates = search.steps.reduce((sum, step) => sum + step.candidates.length, 0);
    // Four more are the legend's.
    expect(svg.match(/<circle /g)).toHaveLength(candidates + 4);
    expect(svg).toContain('&lt;swahili>');
    expect(svg).not.toMatch(/NaN|undefined|Infinity/);
    expect(svg).toContain('higher is better</text>');
    expect(svg).toContain('80 problems</text>');
  });

  it('draws configurations that could not be scored nowhere, and a search that chose the default', async () => {
    const search = await searched();
    const [first, ...rest] = search.steps;
    if (first === undefined) throw new Error('there is a first step');
    const [candidate, ...others] = first.candidates;
    if (candidate === undefined) throw new Error('there is a first candidate');
    const failed = { ...candidate, mean: null, estimate: null, problems: 0 };
    const steps = [{ ...first, candidates: [failed, ...others] }, ...rest];
    const of = (svg: string) => svg.match(/<circle /g)?.length ?? 0;
    expect(of(drawSearch(search)) - of(drawSearch({ ...search, steps }))).toBe(1);
    const same = { ...search, heldOut: null, conclusion: null, choice: search.default };
    expect(drawSearch(same)).toContain('The default was chosen.');
    expect(describeSearch(same)).toContain('there is nothing to compare');
  });

  it('is told in words with the score on held-out problems, and no other', async () => {
    const search = await searched();
    const text = describeSearch(search);
    expect(text).toMatch(/rung 1 +81 +27 +55 +2187/);
    expect(text).toContain(`choice: ${search.choice} (<swahili>, 1 pair)`);
    expect(text).toMatch(/on 80 held-out problems: 27\.5, default grid\/b5-u2-tb0-tu0: 12\.5/);
    expect(text).toContain('(exact McNemar test)');
    expect(text).toContain(
      'The choice is better than the default: +15.0 points, higher is better, p = 0.004',
    );
    expect(text).toContain(`recommended: ${search.choice}\n`);
  });

  it('calls a choice of a higher perplexity worse, and recommends the default', async () => {
    const landscape = landscapeOf(space, { shape: shapes.hill, shared: 0.9, seed: 4 });
    const higherPerplexity: HeldOutComparison = {
      ...{ rows: [170, 250], metric: 'byte_perplexity,none', n: 80, choice: 3.086, default: 3 },
      ...{ difference: 0.086, higherIsBetter: false, interval: [0.043, 0.138], p: 0.016, test: 't' },
      estimand: null,
    };
    const parameters = { strategy: 'halving', problems: 250, holdOut: 80, budget: 5062, seed: 4 };
    const trace = await searchSpace(
      space,
      { ...landscape, compare: async () => higherPerplexity },
      parameters,
    );
    expect(trace).toMatchObject({
      isGain: false,
      conclusion: { verdict: 'worse' },
      recommended: trace.default,
    });
    const search = { ...(await searched()), ...trace, metric: higherPerplexity.metric };
    const text = describeSearch(search);
    expect(text).toContain(
      'The choice is worse than the default: +0.086 byte perplexity, lower is better, 95 % interval +0.043 to +0.138, p = 0.016, 80 problems.',
    );
    expect(text).toContain(`recommended: ${search.default}, the default`);
    expect(text).not.toMatch(/gain/);
    expect(drawSearch(search)).toMatch(/>worse<.*lower is better.*recommended: the default/s);
  });
});
