import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  cutIntoParts,
  decideExtents,
  type PartlyNeeded,
} from '../../src/core/models/sources/ranges/parts.js';
import { bytesOf, type Extent, joinExtents, subtractExtents } from '../../src/core/tensor/extent.js';

const within = (bytes: number): fc.Arbitrary<Extent[]> =>
  fc
    .array(fc.tuple(fc.nat(bytes), fc.nat(bytes)), { maxLength: 12 })
    .map((pairs) => joinExtents(pairs.map(([a, b]) => ({ begin: Math.min(a, b), end: Math.max(a, b) }))));

const file: fc.Arbitrary<PartlyNeeded> = fc
  .integer({ min: 1, max: 50_000_000 })
  .chain((bytes) => fc.record({ bytes: fc.constant(bytes), present: within(bytes), needed: within(bytes) }));

const missing = ({ needed, present }: PartlyNeeded) => subtractExtents(needed, present);

describe('what is fetched', () => {
  it('is all that is missing, and at most 0.5 % more', () => {
    fc.assert(
      fc.property(fc.array(file, { maxLength: 5 }), (files) => {
        const decided = decideExtents(files);
        for (const [index, one] of files.entries())
          expect(subtractExtents(missing(one), decided[index] ?? [])).toEqual([]);
        const needed = files.reduce((bytes, one) => bytes + bytesOf(missing(one)), 0);
        const fetched = decided.reduce((bytes, extents) => bytes + bytesOf(extents), 0);
        expect(fetched).toBeLessThanOrEqual(needed * 1.005);
      }),
    );
  });

  it('is the whole of a file of which nearly all is needed, and not of one of which half is', () => {
    const [bytes, present] = [1_000_000, [{ begin: 0, end: 1000 }]];
    const nearly = { bytes, present, needed: [{ begin: 2000, end: bytes - 500 }] };
    const half = { bytes, present, needed: [{ begin: 500_000, end: bytes }] };
    expect(decideExtents([nearly, half])).toEqual([[{ begin: 1000, end: bytes }], half.needed]);
  });

  it('has short gaps in it as long as they are few', () => {
    const needed = [
      { begin: 0, end: 10_000_000 },
      { begin: 10_004_000, end: 20_000_000 },
      { begin: 20_070_000, end: 30_000_000 },
    ];
    expect(decideExtents([{ bytes: 90_000_000, present: [], needed }])).toEqual([
      [
        { begin: 0, end: 20_000_000 },
        { begin: 20_070_000, end: 30_000_000 },
      ],
    ]);
  });

  it('is cut into parts that cover it', () => {
    fc.assert(
      fc.property(within(1000), fc.integer({ min: 1, max: 300 }), (extents, most) => {
        const parts = cutIntoParts(extents, most);
        expect(joinExtents(parts)).toEqual(extents);
        expect(bytesOf(parts)).toBe(bytesOf(extents));
        expect(Math.max(0, ...parts.map((part) => bytesOf([part])))).toBeLessThanOrEqual(most);
      }),
    );
  });
});
