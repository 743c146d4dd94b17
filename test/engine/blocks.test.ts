import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockSums, blocksOf, inParts } from '../../src/core/engine/compute/measures/blocks.js';
import type { Measure } from '../../src/core/native/measure.js';

const ofRows: Measure = { kind: 'rowMagnitudes', value: 0 };
const pairsOfRows: Measure = { kind: 'rowGram', values: [0, 1] };
const added: Measure = { kind: 'gram', values: [0] };

describe('blocks of a tensor', () => {
  it('are whole rows that cover it once, in order', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 50 }),
        fc.integer({ min: 1, max: 40 }),
        fc.nat(200),
        (rows, columns, most) => {
          let end = 0;
          for (const [position, { index, first, count }] of blocksOf(
            { elements: rows * columns, columns },
            most,
          ).entries()) {
            expect([index, first, count % columns]).toEqual([position, end, 0]);
            expect(count).toBeGreaterThan(0);
            expect(count).toBeLessThanOrEqual(Math.max(most, columns));
            end += count;
          }
          expect(end).toBe(rows * columns);
        },
      ),
    );
  });

  it('are of 4 Mi elements, which sums depend on', () => {
    expect(blocksOf({ elements: 3 * 2 ** 22, columns: 3 * 2 ** 10 }).map(({ count }) => count)).toEqual([
      4_193_280, 4_193_280, 4_193_280, 3072,
    ]);
  });

  it('of a tensor of more elements than 32 bits count are divided where these end', () => {
    const blocks = blocksOf({ elements: 2 ** 33 + 4096, columns: 4096 });
    const parts = inParts(blocks, 2 ** 32 - 1);
    expect(parts.flat()).toEqual(blocks);
    expect(parts.map((part) => part.reduce((sum, { count }) => sum + count, 0))).toEqual([
      2 ** 32 - 2 ** 22,
      2 ** 32 - 2 ** 22,
      2 ** 23 + 4096,
    ]);
  });
});

describe('sums of blocks', () => {
  const shape = { elements: 15, columns: 3 };
  const blocks = blocksOf(shape, 6);
  // Float64 sums that differ with their order.
  const found = [
    { rows: [1, 2], pairs: [1, 2, 3, 4, 5, 6], sum: [1e16] },
    { rows: [3, 4], pairs: [7, 8, 9, 10, 11, 12], sum: [1] },
    { rows: [5], pairs: [13, 14, 15], sum: [-1e16] },
  ].map(({ rows, pairs, sum }) => [rows, pairs, sum].map((numbers) => Float64Array.from(numbers)));

  it('are in block order, however blocks come', () => {
    fc.assert(
      fc.property(fc.shuffledSubarray([0, 1, 2], { minLength: 3 }), (order) => {
        const sums = new BlockSums(shape, [ofRows, pairsOfRows, added]);
        for (const index of order)
          sums.add(blocks[index] as (typeof blocks)[number], found[index] as Float64Array[]);
        expect(sums.found.map((numbers) => [...numbers])).toEqual([
          [1, 2, 3, 4, 5],
          [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
          [1e16 + 1 - 1e16],
        ]);
      }),
    );
  });

  it('are of the blocks before the first that is missing', () => {
    const sums = new BlockSums(shape, [added]);
    sums.add(blocks[2] as (typeof blocks)[number], [Float64Array.of(3)]);
    expect(sums.found).toEqual([Float64Array.of(0)]);
  });
});
