import { describe, expect, it } from 'vitest';
import {
  gramOf,
  mostIterations,
  type RuleParameters,
  ruleNamed,
} from '../../src/core/methods/operations/program/rules.js';

type Vector = readonly number[];

const dot = (x: Vector, y: Vector): number => x.reduce((sum, a, i) => sum + a * (y[i] as number), 0);
const norm = (x: Vector): number => Math.sqrt(dot(x, x));
const scaled = (x: Vector, by: number): Vector => x.map((a) => a * by);
const added = (x: Vector, y: Vector): Vector => x.map((a, i) => a + (y[i] as number));
const combined = (vectors: readonly Vector[], coefficients: readonly number[]): Vector =>
  vectors.map((x, i) => scaled(x, coefficients[i] as number)).reduce(added);
const directionOf = (x: Vector): Vector => scaled(x, 1 / norm(x));

const coefficientsOf = (rule: string, vectors: readonly Vector[], parameters: RuleParameters = {}) => {
  const pairs = vectors.flatMap((x, i) => vectors.slice(i).map((y) => dot(x, y)));
  // Other numbers come first, as if each row had a matrix.
  return ruleNamed(rule, 'w').coefficients(
    gramOf(Float64Array.from([7, 7, ...pairs]), 2, vectors.length),
    parameters,
  );
};

const mergedBy = (rule: string, vectors: readonly Vector[], parameters: RuleParameters = {}): Vector =>
  combined(vectors, coefficientsOf(rule, vectors, parameters) as readonly number[]);

const expectClose = (x: Vector, y: Vector): void => {
  expect(x.length).toBe(y.length);
  for (const [i, a] of x.entries()) expect(a).toBeCloseTo(y[i] as number, 10);
};

const a: Vector = [1, 2, -3, 0.5];
const b: Vector = [-2, 1, 4, 1];
const c: Vector = [0.25, 3, 1, -1];
const vectors: readonly Vector[] = [a, b, c];

/** The point at share t of the arc from x to y. */
const onArc = (x: Vector, y: Vector, t: number): Vector => {
  const angle = Math.acos(dot(x, y) / (norm(x) * norm(y)));
  return combined([x, y], [Math.sin((1 - t) * angle), Math.sin(t * angle)]).map((z) => z / Math.sin(angle));
};

describe.each(['slerp', 'nuslerp'])('%s', (rule) => {
  it.each([0, 0.3, 0.5, 1])('is the arc’s point at t = %f', (t) => {
    expectClose(mergedBy(rule, [a, b], { t }), onArc(a, b, t));
  });

  it('keeps the length of two vectors of one length', () => {
    expect(
      norm(
        mergedBy(
          rule,
          [
            [3, 0, 4],
            [0, 5, 0],
          ],
          { t: 0.25 },
        ),
      ),
    ).toBeCloseTo(5, 10);
  });

  it('is linear between parallel vectors', () => {
    expectClose(
      mergedBy(
        rule,
        [
          [1, 2],
          [3, 6],
        ],
        { t: 0.25 },
      ),
      [1.5, 3],
    );
  });

  it('has finite coefficients where a vector is 0', () => {
    for (const pair of [
      [
        [0, 0],
        [1, 2],
      ],
      [
        [1, 2],
        [0, 0],
      ],
      [
        [0, 0],
        [0, 0],
      ],
    ])
      for (const coefficient of coefficientsOf(rule, pair as Vector[], { t: 0.4 }))
        expect(Number.isFinite(coefficient)).toBe(true);
  });
});

describe('the tolerance of slerp', () => {
  it('is what nuslerp has not: nearly parallel vectors are on an arc there', () => {
    const pair: Vector[] = [
      [1, 0],
      [Math.cos(0.02), Math.sin(0.02)],
    ];
    expect(coefficientsOf('slerp', pair, { t: 0.5 })).toEqual([0.5, 0.5]);
    expectClose(mergedBy('nuslerp', pair, { t: 0.5 }), onArc(pair[0] as Vector, pair[1] as Vector, 0.5));
    expect(norm(mergedBy('nuslerp', pair, { t: 0.5 }))).toBeCloseTo(1, 10);
  });
});

describe('multislerp', () => {
  /**
   * The exponential map of the weighted tangents at the weighted mean direction, computed on the vectors
   * themselves.
   */
  const direct = (weights: Vector): Vector => {
    const directions = vectors.map(directionOf);
    const mean = directionOf(combined(directions, weights));
    const tangents = directions.map((u) => added(u, scaled(mean, -dot(u, mean))));
    const tangent = combined(tangents, weights);
    const length = norm(tangent);
    const moved = added(scaled(mean, Math.cos(length)), scaled(tangent, Math.sin(length) / length));
    return scaled(moved, dot(weights, vectors.map(norm)));
  };

  it('is the direct computation over the vectors', () => {
    const weights = [0.5, 0.2, 0.3];
    const merged = mergedBy('multislerp', vectors, { weights, normalizeWeights: false, eps: 1e-14 });
    expectClose(merged, direct(weights));
  });

  it('makes weights sum to 1 first, where it is asked to', () => {
    const parameters = { normalizeWeights: true, eps: 1e-14 };
    expectClose(
      mergedBy('multislerp', vectors, { ...parameters, weights: [5, 2, 3] }),
      mergedBy('multislerp', vectors, { ...parameters, weights: [0.5, 0.2, 0.3] }),
    );
  });

  it('is a single vector itself', () => {
    expect(coefficientsOf('multislerp', [a], { weights: [3], normalizeWeights: true, eps: 1e-8 })).toEqual([
      1,
    ]);
  });

  it('is the weighted sum of two opposite directions, and of more it has no mean', () => {
    const parameters = { normalizeWeights: false, eps: 1e-8 };
    expect(
      coefficientsOf(
        'multislerp',
        [
          [1, 0],
          [-2, 0],
        ],
        { ...parameters, weights: [0.5, 0.5] },
      ),
    ).toEqual([0.5, 0.5]);
    const third = (2 * Math.PI) / 3;
    const star = [0, 1, 2].map((i): Vector => [Math.cos(i * third), Math.sin(i * third)]);
    expect(coefficientsOf('multislerp', star, { ...parameters, weights: [1, 1, 1] })).toMatch(/cancel out/);
  });
});

describe('karcher', () => {
  const parameters = { maxIter: 200, tol: 1e-12 };

  it('is where the logarithms of all directions sum to 0, at the mean of the lengths', () => {
    const merged = mergedBy('karcher', vectors, parameters);
    expect(norm(merged)).toBeCloseTo(vectors.reduce((sum, x) => sum + norm(x), 0) / 3, 8);
    const mean = directionOf(merged);
    const logarithms = vectors.map(directionOf).map((u) => {
      const cosine = dot(u, mean);
      const angle = Math.acos(cosine);
      return scaled(added(u, scaled(mean, -cosine)), angle / Math.sin(angle));
    });
    expect(norm(logarithms.reduce(added))).toBeLessThan(1e-6);
  });

  it('is halfway along the arc between two of one length', () => {
    const pair: Vector[] = [
      [3, 0, 4],
      [0, 5, 0],
    ];
    expectClose(mergedBy('karcher', pair, parameters), onArc(pair[0] as Vector, pair[1] as Vector, 0.5));
  });

  it('leaves vectors of no length aside but for the mean length, and is 0 of nothing else', () => {
    expectClose(
      mergedBy(
        'karcher',
        [
          [3, 4],
          [0, 0],
        ],
        parameters,
      ),
      [1.5, 2],
    );
    expect(
      coefficientsOf(
        'karcher',
        [
          [0, 0],
          [0, 0],
        ],
        parameters,
      ),
    ).toEqual([0, 0]);
  });

  it('takes in each iteration the step of the mean logarithm, from the normalised mean on', () => {
    const start = directionOf(vectors.map(directionOf).reduce(added));
    const logarithms = vectors.map(directionOf).map((u) => {
      const angle = Math.acos(dot(u, start));
      return scaled(added(u, scaled(start, -Math.cos(angle))), angle / Math.sin(angle) / 3);
    });
    const step = logarithms.reduce(added);
    const moved = added(scaled(start, Math.cos(norm(step))), scaled(step, Math.sin(norm(step)) / norm(step)));
    const merged = mergedBy('karcher', vectors, { ...parameters, maxIter: 1 });
    expectClose(directionOf(merged), moved);
  });

  it('is a single vector itself', () => {
    expect(coefficientsOf('karcher', [a], parameters)).toEqual([1]);
  });
});

describe('model_stock', () => {
  it('goes t of the way to the mean, t by the mean cosine of all pairs', () => {
    const cosineOf = (x: Vector, y: Vector) => dot(x, y) / (norm(x) * norm(y));
    const [x, y, z] = vectors as [Vector, Vector, Vector];
    const cosine = (cosineOf(x, y) + cosineOf(x, z) + cosineOf(y, z)) / 3;
    const t = (3 * cosine) / (1 + 2 * cosine);
    expectClose(mergedBy('model_stock', vectors), scaled(vectors.reduce(added), t / 3));
  });

  it('is the mean of equal vectors, and nothing of perpendicular or opposite ones', () => {
    expectClose(
      mergedBy('model_stock', [
        [1, 2],
        [1, 2],
      ]),
      [1, 2],
    );
    expectClose(
      mergedBy('model_stock', [
        [1, 0],
        [0, 1],
      ]),
      [0, 0],
    );
    expect(
      coefficientsOf('model_stock', [
        [1, 0],
        [-1, 0],
      ]),
    ).toEqual([0, 0]);
  });
});

describe('a rule', () => {
  it('that is not registered is refused, with the tensor', () => {
    expect(() => ruleNamed('geodesic', 'w')).toThrow(
      expect.objectContaining({
        code: 'MERGE_UNDEFINED',
        details: expect.objectContaining({ tensor: 'w', method: 'geodesic' }),
      }),
    );
  });

  it('takes the numbers of vectors and the parameters that it is a rule of', () => {
    const takes = (rule: string, count: number, parameters: RuleParameters) =>
      ruleNamed(rule, 'w').accepts(parameters, count);
    expect(takes('slerp', 2, { t: 0.5 })).toBe(true);
    expect(takes('slerp', 3, { t: 0.5 })).toBe(false);
    expect(takes('nuslerp', 2, {})).toBe(false);
    const multislerp = { weights: [1, 1], normalizeWeights: true, eps: 1e-8 };
    expect(takes('multislerp', 2, multislerp)).toBe(true);
    expect(takes('multislerp', 3, multislerp)).toBe(false);
    expect(takes('multislerp', 2, { ...multislerp, eps: 0 })).toBe(false);
    expect(takes('karcher', 5, { maxIter: mostIterations, tol: 1e-5 })).toBe(true);
    expect(takes('karcher', 5, { maxIter: mostIterations + 1, tol: 1e-5 })).toBe(false);
    expect(takes('karcher', 5, { maxIter: 1.5, tol: 1e-5 })).toBe(false);
    expect(takes('model_stock', 1, {})).toBe(false);
    expect(takes('model_stock', 2, {})).toBe(true);
  });
});
