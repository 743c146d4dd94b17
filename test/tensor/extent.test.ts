import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bytesOf, type Extent, joinExtents, subtractExtents } from '../../src/core/tensor/extent.js';

const extents = fc.array(
  fc.tuple(fc.nat(60), fc.nat(8)).map(([begin, bytes]) => ({ begin, end: begin + bytes })),
  { maxLength: 8 },
);

const positions = (of: readonly Extent[]): number[] => {
  const bytes = new Set<number>();
  for (const { begin, end } of of)
    for (let position = begin; position < end; position += 1) bytes.add(position);
  return [...bytes].sort((a, b) => a - b);
};

const areAscending = (of: readonly Extent[]): boolean =>
  of.every(({ begin, end }, index) => begin < end && (of[index - 1]?.end ?? -1) < begin);

describe('extents', () => {
  it('joined have the same bytes, ascending, with gaps between them', () => {
    fc.assert(
      fc.property(extents, (of) => {
        const joined = joinExtents(of);
        expect(positions(joined)).toEqual(positions(of));
        expect(areAscending(joined)).toBe(true);
        expect(bytesOf(joined)).toBe(positions(of).length);
      }),
    );
  });

  it('without others have the bytes that are in none of those', () => {
    fc.assert(
      fc.property(extents, extents, (of, others) => {
        const taken = new Set(positions(others));
        const rest = subtractExtents(of, others);
        expect(positions(rest)).toEqual(positions(of).filter((position) => !taken.has(position)));
        expect(areAscending(rest)).toBe(true);
      }),
    );
  });
});
