import { describe, expect, it } from 'vitest';
import { combined, solveWeights } from '../../src/core/measure/proof/agreement.js';
import { generator } from '../fixtures/numbers.js';

const random = generator(4);
const vectors = [1, 2, 3].map(() => Float32Array.from({ length: 64 }, () => random() - 0.5));

describe('weights by least squares', () => {
  it.each([[[0.25, 0.5, 0.25]], [[1, 0, -2]]])('are those of a weighted sum: %j', (weights) => {
    const solved = solveWeights(vectors, combined(vectors, weights));
    expect(solved).toEqual(weights.map((weight) => expect.closeTo(weight, 5)));
  });

  it('are undefined if a vector is the sum of others', () => {
    const [a = new Float32Array(), b = a] = vectors;
    expect(solveWeights([a, b, combined([a, b], [1, 1])], a)).toBeUndefined();
  });
});
