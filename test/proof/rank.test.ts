import { describe, expect, it } from 'vitest';
import type { Sampled } from '../../src/core/measure/proof/evidence.js';
import { rankOfRows } from '../../src/core/measure/proof/faults/rank.js';
import { generator } from '../fixtures/numbers.js';

const [rows, columns] = [16, 64];
const random = generator(3);
const numbers = (length: number) => Float32Array.from({ length }, () => random() - 0.5);

/** A sum of `rank` outer products, with as much noise as the roundings of numbers below 1 in bfloat16. */
const changeOf = (rank: number): Float32Array => {
  const [left, right] = [numbers(rows * rank), numbers(rank * columns)];
  return numbers(rows * columns).map((noise, at) => {
    let sum = noise * 2 ** -9;
    for (let k = 0; k < rank; k += 1)
      sum += (left[Math.floor(at / columns) * rank + k] ?? 0) * (right[k * columns + (at % columns)] ?? 0);
    return sum;
  });
};

const sample = { found: numbers(rows * columns), grain: ['BF16'] } as unknown as Sampled;

describe('the rank of a change', () => {
  it.each([1, 2, 5])('is %i above the noise of roundings', (rank) => {
    expect(rankOfRows(changeOf(rank), columns, sample)).toBe(rank);
  });

  it('is not known of noise and of a change of full rank', () => {
    expect(rankOfRows(changeOf(0), columns, sample)).toBeUndefined();
    expect(rankOfRows(changeOf(rows), columns, sample)).toBeUndefined();
  });
});
