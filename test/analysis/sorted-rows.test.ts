import { describe, expect, it } from 'vitest';
import { autoThreshold, sortedRows } from '../../src/core/measure/analysis/advice/auto-threshold.js';
import { constructedVectors } from '../fixtures/mav-vectors.js';

describe('the rows of experts in order', () => {
  it('are those of matrices inside layers, without those that are not finite', () => {
    const mav = constructedVectors('a', { layers: 2, peak: 1 });
    const [first] = mav.vectors.values();
    first?.set([Number.NaN, 0, 5]);
    const expected = [...mav.vectors.values()].flatMap((vector) => [...vector]).filter((one) => one >= 0);
    expect([...sortedRows([mav])]).toEqual(expected.sort((a, b) => a - b));
    const changed = expected.filter((one) => one > 0);
    expect(autoThreshold([mav])).toBe(changed[Math.floor((changed.length * 2) / 3)]);
  });

  it('are none where nothing is finite, and without a threshold where nothing changed', () => {
    const mav = constructedVectors('a', { layers: 1, peak: 0 });
    for (const vector of mav.vectors.values()) vector.fill(0);
    expect(autoThreshold([mav])).toBeUndefined();
    expect(sortedRows([mav])[0]).toBe(0);
    for (const vector of mav.vectors.values()) vector.fill(Number.NaN);
    expect(sortedRows([mav])).toHaveLength(0);
  });
});
