import { describe, expect, it } from 'vitest';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import { searchSpace } from '../../src/study/search/search.js';
import type { SearchTrace } from '../../src/study/search/space/trace.js';
import {
  landscapeOf,
  paperSpace,
  type Shape,
  type SyntheticLandscape,
  shapes,
} from '../search/landscapes.js';

const space = paperSpace();
const quarter = Math.floor((81 * 250) / 4);

const searched = async (
  shape: Shape | undefined,
  shared: number,
  seed: number,
): Promise<{ trace: SearchTrace; landscape: SyntheticLandscape }> => {
  const landscape = landscapeOf(space, { shape, shared, seed });
  const parameters = { problems: 250, holdOut: 80, budget: quarter, seed };
  const trace = await searchSpace(space, landscape, parameters);
  expect(landscape.used()).toBeLessThanOrEqual(quarter);
  return { trace, landscape };
};

/** How many choices out of 20 seeds are within a point of the optimum. */
const foundIn = async (shape: Shape, shared: number): Promise<number> => {
  let found = 0;
  for (let seed = 1; seed <= 20; seed += 1) {
    const { trace, landscape } = await searched(shape, shared, seed);
    const chosen = space.points.findIndex(({ name }) => name === trace.choice);
    if (itemAt(landscape.scores, chosen) >= Math.max(...landscape.scores) - 1) found += 1;
  }
  return found;
};

const share = [0, 0.7, 0.9, 1] as const;

/**
 * All of docs/search.md, or a part that a sweep has time for: two columns of four, and 40 of 200 flat
 * landscapes.
 */
const isAll = process.env['LAYERLOOM_LANDSCAPES'] === 'all';
const columns = isAll ? [0, 1, 2, 3] : [0, 2];
const flat = isAll ? 200 : 40;

describe('a search with a quarter of the grid', () => {
  // Independent outcomes are the hardest: pairing gains nothing, and neighbours 4 points apart differ by one
  // standard error. docs/search.md has this table.
  it.each([
    ['hill', [19, 20, 20, 20]],
    ['plateau', [17, 19, 20, 20]],
    ['shoulder', [9, 12, 19, 20]],
    ['rugged', [13, 17, 19, 20]],
    ['needle', [8, 9, 18, 20]],
  ] as const)('finds the optimum of a %s as often as documented', async (shape, expected) => {
    const found = [];
    for (const column of columns) found.push(await foundIn(shapes[shape], itemAt(share, column)));
    expect(found).toEqual(columns.map((column) => itemAt(expected, column)));
  });

  it.each([0, 0.9])('claims a gain in few of many flat landscapes, shared %d', async (shared) => {
    let claims = 0;
    for (let seed = 1; seed <= flat; seed += 1)
      if ((await searched(undefined, shared, 1000 + seed)).trace.isGain) claims += 1;
    console.info(`shared ${shared}: ${claims} of ${flat} claim a gain`);
    // 5 % and two standard errors of a share of that many.
    const expected = 0.05 * flat;
    expect(claims).toBeLessThanOrEqual(expected + 2 * Math.sqrt(0.95 * expected));
  });
});
