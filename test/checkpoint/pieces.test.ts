import { describe, expect, it } from 'vitest';
import { type FoundTensor, joined } from '../../src/core/models/checkpoint/pieces.js';

const half = (at: number, change: Partial<FoundTensor> = {}, shape = [2, 3]): FoundTensor => ({
  ...{ file: 0, dtype: 'F32', shape: [1, 3], begin: 12 * at, end: 12 * at + 12 },
  piece: { tensor: 'w', shape, at: [at, 0] },
  ...change,
});

const join = (second: FoundTensor) =>
  joined(
    new Map([
      ['w at [0, 0]', half(0)],
      ['w at [1, 0]', second],
    ]),
    [{ path: 'a.pt' }],
  ).get('w');

describe('pieces', () => {
  it('are joined to a tensor', () => {
    expect(join(half(1))).toMatchObject({ dtype: 'F32', shape: [2, 3], pieces: [{}, { at: [1, 0] }] });
  });

  it.each([
    ['dtype', half(1, { dtype: 'I32' })],
    ['shape of the tensor', half(1, {}, [3, 3])],
  ])('of another %s are refused', (_, second) => {
    expect(() => join(second)).toThrow(
      expect.objectContaining({ code: 'HEADER_INVALID', message: expect.stringContaining('differ') }),
    );
  });
});
