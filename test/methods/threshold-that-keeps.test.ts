import { describe, expect, it } from 'vitest';
import { thresholdThatKeeps, type WeighedRows } from '../../src/core/methods/swaps/threshold-that-keeps.js';
import { generator } from '../fixtures/numbers.js';

const bySorting = (share: number, tensors: readonly WeighedRows[]): number => {
  const all = tensors.flatMap(({ vector, parameters }) =>
    Array.from(vector, (mav) => ({ mav: Number.isNaN(mav) ? Number.POSITIVE_INFINITY : mav, parameters })),
  );
  const total = all.reduce((sum, { parameters }) => sum + parameters, 0);
  all.sort((a, b) => b.mav - a.mav);
  let kept = 0;
  for (const { mav, parameters } of all) {
    kept += parameters;
    if (kept >= share * total) return Number.isFinite(mav) ? mav : 0;
  }
  return 0;
};

describe('the threshold that keeps a share of the parameters', () => {
  it('is the MAV of the last row that must stay', () => {
    const random = generator(7);
    for (let round = 0; round < 200; round += 1) {
      const scale = 10 ** -(random() * 12);
      const tensors = Array.from({ length: 1 + Math.floor(random() * 4) }, () => ({
        // Some rows are equal, some unchanged, some not finite.
        vector: Float32Array.from({ length: Math.floor(random() * 40) }, () =>
          random() < 0.05
            ? Number.NaN
            : random() < 0.2
              ? 0
              : Math.ceil(random() * 8) * scale * (random() < 0.5 ? 1 : random()),
        ),
        parameters: 1 + Math.floor(random() * 100),
      }));
      for (const share of [0.001, 0.25, 0.5, 0.9, 0.999, 1])
        expect([share, thresholdThatKeeps(share, tensors)]).toEqual([share, bySorting(share, tensors)]);
    }
  });

  it('is 0 without rows, and where rows that are not finite are enough', () => {
    expect(thresholdThatKeeps(0.5, [])).toBe(0);
    const vector = Float32Array.of(Number.NaN, Number.NaN, 1);
    expect(thresholdThatKeeps(0.5, [{ vector, parameters: 3 }])).toBe(0);
    expect(thresholdThatKeeps(0.9, [{ vector, parameters: 3 }])).toBe(1);
  });
});
