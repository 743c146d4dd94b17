import { uniformFloat64 } from 'pure-rand/distribution/uniformFloat64';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';
import { itemAt } from '../../src/core/base/errors/lookup.js';
import { mcnemarExact } from '../../src/study/scores/comparing/paired.js';
import type { Landscape } from '../../src/study/search/space/landscape.js';
import { distanceOf, type SearchSpace } from '../../src/study/search/space/space.js';

/** The paper's grid (§4.2): bottom 3 to 5, top and both transitions 0 to 2; its default is 5, 2, 0, 0. */
export const paperSpace = (): SearchSpace => {
  const coordinates = [
    { name: 'bottom', values: ['3', '4', '5'], isOrdered: true },
    { name: 'top', values: ['0', '1', '2'], isOrdered: true },
    { name: 'bottomTransition', values: ['0', '1', '2'], isOrdered: true },
    { name: 'topTransition', values: ['0', '1', '2'], isOrdered: true },
  ];
  const points = Array.from({ length: 81 }, (_, index) => {
    const at = [27, 9, 3, 1].map((step) => Math.floor(index / step) % 3);
    const [b, u, tb, tu] = at.map((value, axis) => itemAt(itemAt(coordinates, axis).values, value));
    return { name: `grid/b${b}-u${u}-tb${tb}-tu${tu}`, group: 0, at };
  });
  return {
    groups: [{ name: 'grid', coordinates }],
    points,
    default: points.findIndex(({ name }) => name === 'grid/b5-u2-tb0-tu0'),
    order: points.map((_, index) => index),
  };
};

export type Random = () => number;

export const randomOf = (seed: number): Random => {
  const generator = xoroshiro128plus(seed);
  return () => uniformFloat64(generator);
};

export type Shape = (steps: number, random: Random) => number;

/** Shapes whose optimum is 8 points above all except its neighbours. */
export const shapes = {
  /** Four points less for each step. */
  hill: (steps) => 8 - 4 * steps,
  /** Neighbours within a point of the optimum. */
  plateau: (steps) => (steps === 0 ? 8 : steps === 1 ? 7.2 : 0),
  /** Neighbours half as high. */
  shoulder: (steps) => (steps === 0 ? 8 : steps === 1 ? 4 : 0),
  /** Neighbours 3 to 7 points above the level, others up to 4 points below. */
  rugged: (steps, random) => (steps === 0 ? 8 : steps === 1 ? 3 + 4 * random() : -4 * random()),
  /** Neighbours like all others. */
  needle: (steps) => (steps === 0 ? 8 : 0),
} satisfies Record<string, Shape>;

export interface SyntheticLandscape extends Landscape {
  readonly scores: readonly number[];
  readonly used: () => number;
}

/**
 * Draws a landscape of 250 problems with a random optimum and a level of 20 to 40 %. A configuration solves a
 * problem with the probability of its score (binomial noise). `shared` is the probability that the problem's
 * difficulty, common to all configurations, decides instead of chance.
 */
export const landscapeOf = (
  space: SearchSpace,
  { shape, shared, seed }: { shape: Shape | undefined; shared: number; seed: number },
): SyntheticLandscape => {
  const random = randomOf(seed);
  const optimum = itemAt(space.points, Math.floor(random() * space.points.length));
  const level = 20 + 20 * random();
  const scores = space.points.map((point) =>
    Math.max(0, level + (shape?.(distanceOf(space, point, optimum), random) ?? 0)),
  );
  const difficulties = Array.from({ length: 250 }, random);
  const outcomes = scores.map((score) =>
    difficulties.map((difficulty) => ((random() < shared ? difficulty : random()) < score / 100 ? 1 : 0)),
  );
  let used = 0;
  return {
    scores,
    used: () => used,
    cost: 1,
    evaluate: async (points, [from, to]) => {
      used += points.length * (to - from);
      return points.map((point) => itemAt(outcomes, point).slice(from, to));
    },
    compare: async (choice, standard, [from, to]) => {
      used += 2 * (to - from);
      const [a, b] = [choice, standard].map((point) => itemAt(outcomes, point).slice(from, to)) as [
        number[],
        number[],
      ];
      const wins = (x: number[], y: number[]) => x.filter((value, index) => value > itemAt(y, index)).length;
      const mean = (of: number[]) => of.reduce((sum, value) => sum + value, 0) / of.length;
      return {
        rows: [from, to],
        metric: 'exact_match,flexible-extract',
        n: to - from,
        choice: mean(a),
        default: mean(b),
        difference: mean(a) - mean(b),
        higherIsBetter: true,
        interval: null,
        p: mcnemarExact(wins(a, b), wins(b, a)),
        test: 'mcnemar',
        estimand: null,
      };
    },
  };
};
