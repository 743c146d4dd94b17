import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { selectCheckpoints, selectFromFiles } from '../../src/index.js';
import { describeSelection } from '../../src/report/selection-text.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

/** Four checkpoints: b is nearly the same as a, the best; d is the worst and the farthest. */
const candidates = [
  { name: 'a', scores: { mgsm: 4 } },
  { name: 'b', scores: { mgsm: 3 } },
  { name: 'c', scores: { mgsm: 2 } },
  { name: 'd', scores: { mgsm: 1 } },
];
const distances = [
  { pair: ['a', 'b'], distance: 0 },
  { pair: ['c', 'a'], distance: 0.5 },
  { pair: ['a', 'd'], distance: 1 },
  { pair: ['b', 'c'], distance: 0.5 },
  { pair: ['b', 'd'], distance: 1 },
  { pair: ['c', 'd'], distance: 0.6 },
] as const;

const namesOf = (...input: Parameters<typeof selectCheckpoints>) =>
  selectCheckpoints(...input).chosen.map(({ name }) => name);

describe('selecting checkpoints', () => {
  // By hand: scores have mean 2.5 and deviation √1.25 = 1.118, so they are 1.342, 0.447, −0.447, −1.342. Distances have mean 0.6
  // and deviation √(0.70/6) = 0.34157. Second: b 0.447 − 1.757 = −1.309, c −0.447 − 0.293 = −0.740, d −1.342 + 1.171 = −0.171.
  // Third, nearest to a or d: b still −1.309, c (0.5 to a) still −0.740.
  it('takes the best, then what balances score and distance to the nearest one chosen', () => {
    const { chosen } = selectCheckpoints({ candidates, distances });
    expect(chosen.map(({ name }) => name)).toEqual(['a', 'd', 'c']);
    expect(chosen.map(({ value }) => value)).toEqual([
      expect.closeTo(1.342, 3),
      expect.closeTo(-0.171, 3),
      expect.closeTo(-0.74, 3),
    ]);
    expect(chosen.map(({ distance }) => distance)).toEqual([null, 1, 0.5]);
    expect(chosen[1]?.next).toEqual({ name: 'c', value: expect.closeTo(-0.74, 3) });
  });

  it('takes the best scores with balance 0, and the farthest with a large one', () => {
    expect(namesOf({ candidates, distances, balance: 0 })).toEqual(['a', 'b', 'c']);
    expect(namesOf({ candidates, distances, balance: 100, count: 2 })).toEqual(['a', 'd']);
  });

  it('gives each benchmark the same weight, whatever its scale', () => {
    const scored = (name: string, mgsm: number, bleu: number) => ({ name, scores: { mgsm, bleu } });
    const of = (factor: number) => [
      scored('a', 0.2, 30 * factor),
      scored('b', 0.3, 10 * factor),
      scored('c', 0.31, 28 * factor),
    ];
    const pairs = [
      { pair: ['a', 'b'], distance: 1 },
      { pair: ['a', 'c'], distance: 1 },
      { pair: ['b', 'c'], distance: 1 },
    ] as const;
    expect(namesOf({ candidates: of(1), distances: pairs })).toEqual(['c', 'a', 'b']);
    expect(selectCheckpoints({ candidates: of(1000), distances: pairs }).scores[0]?.score).toBeCloseTo(
      selectCheckpoints({ candidates: of(1), distances: pairs }).scores[0]?.score ?? Number.NaN,
      9,
    );
  });

  it.each([
    [{ candidates: candidates.slice(0, 2), distances }, '2 candidates, of which 3 are to be chosen'],
    [{ candidates: [...candidates, candidates[0]], distances }, 'a has scores twice'],
    [{ candidates, distances: distances.slice(1) }, 'a and b have no distance'],
    [{ candidates, distances: [...distances, distances[0]] }, 'a and b have two distances'],
    [
      { candidates: [...candidates.slice(1), { name: 'a', scores: { mgsm: Number.NaN } }], distances },
      'a has null as its score in mgsm',
    ],
    [
      { candidates: [...candidates.slice(1), { name: 'a', scores: { bleu: 1 } }], distances },
      'a has scores of bleu, others of mgsm',
    ],
    [{ candidates, distances, count: 1.5 }, 'count: expected a whole number'],
    [{ candidates, distances, balance: -1 }, 'balance: expected a number from 0 on'],
  ])('refuses bad input %#', (input, message) => {
    expect(() => selectCheckpoints(input as Parameters<typeof selectCheckpoints>[0])).toThrow(message);
  });
});

describe('selecting from files', () => {
  const write = (csv: string, cosines: readonly (readonly [string, string, number | null])[]) => {
    const folder = temporaryDirectory();
    writeFileSync(join(folder, 'scores.csv'), csv);
    writeFileSync(
      join(folder, 'overlap.json'),
      JSON.stringify(
        cosines.map(([a, b, cosine]) => ({ experts: [a, b], parts: [], whole: { layer: null, cosine } })),
      ),
    );
    return { scores: join(folder, 'scores.csv'), analysis: folder };
  };
  const cosines = distances.map(({ pair: [a, b], distance }) => [a, b, 1 - distance] as const);

  it('reads a table of scores and the overlaps of an analysis', async () => {
    const selection = await selectFromFiles(write('name,mgsm\na,4\nb,3\nc,2\nd,1\n', cosines));
    expect(selection.chosen.map(({ name }) => name)).toEqual(['a', 'd', 'c']);
    expect(describeSelection(selection)).toMatch(/2 {2}d +-1\.34 +1\.000 +\+1\.17 +-0\.17 +c -0\.74/);
  });

  it.each([
    ['a,4\n', 'lacks a column name'],
    ['name,mgsm\na,4\nb,x\nc,2\n', 'has "x" as a score of b'],
    ['name,mgsm\na,4\nb\nc,2\n', 'line 3:'],
    ['name,mgsm\na,4\nb,\nc,2\n', 'has "" as a score of b'],
    ['name,mgsm\na,4\na,3\nc,2\n', 'a has scores twice'],
  ])('refuses a faulty table %#', async (csv, message) => {
    await expect(selectFromFiles(write(csv, cosines))).rejects.toThrow(message);
  });

  it('refuses an analysis without overlaps, or with one that has no cosine', async () => {
    const given = write('name,mgsm\na,4\nb,3\nc,2\n', [['a', 'b', null]]);
    await expect(selectFromFiles(given)).rejects.toThrow(
      'has no cosine of a and b; leave out the one that equals',
    );
    await expect(selectFromFiles({ ...given, analysis: join(given.analysis, 'none') })).rejects.toThrow(
      /overlap\.json cannot be read.*layerloom analyze --base/,
    );
  });
});
