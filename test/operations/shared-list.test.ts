import { describe, expect, it } from 'vitest';
import { Program } from '../../src/core/methods/operations/program/program.js';
import { sharedList, sharedNumbers } from '../../src/core/methods/operations/program/shared-list.js';
import { concatenate } from '../../src/core/methods/operations/rows/concatenate.js';
import type { StoredTensor } from '../../src/core/tensor/stored-tensor.js';

/** Runs that put two matrices with this many rows side by side. */
const runsFor = (rows: number, counts: readonly [number, number], layer: number): Float64Array => {
  const columns = counts[0] + counts[1];
  const program = new Program([rows, columns]);
  const sources = counts.map((_, input) =>
    program.source({
      dtype: 'F32',
      input,
      file: 0,
      begin: 64 * layer,
      end: 64 * layer + 4 * rows * columns,
    } as StoredTensor),
  );
  const value = concatenate.lower(
    {
      kind: 'concatenate',
      along: 'columns',
      parts: sources.map((source, part) => ({ source, count: counts[part] ?? 0, factor: 1, weight: 1 })),
    },
    'F32',
    { program } as never,
  );
  for (const node of program.emit([value]).nodes) if (node.kind === 'assemble') return node.runs;
  throw new Error('nothing is put together');
};

describe('lists of runs', () => {
  it('are the same for equal matrices of all layers, and others for other matrices', () => {
    const first = runsFor(3, [2, 4], 0);
    expect([...first]).toEqual([0, 0, 1, 1, 1, 2, 3, 0, 1, 4, 1, 2, 6, 0, 1, 7, 1, 2]);
    expect(runsFor(3, [2, 4], 1)).toBe(first);
    expect([...runsFor(3, [4, 2], 0)]).toEqual([0, 0, 2, 2, 1, 1, 3, 0, 2, 5, 1, 1, 6, 0, 2, 8, 1, 1]);
    expect(runsFor(4, [2, 4], 0)).toHaveLength(24);
  });

  it('are made once, in memory that threads share', () => {
    const list = sharedList('once', () => [1, 2]);
    expect(list.buffer).toBeInstanceOf(SharedArrayBuffer);
    expect(
      sharedList('once', () => {
        throw new Error('made again');
      }),
    ).toBe(list);
    expect(sharedNumbers(list)).toBe(list);
    expect(sharedNumbers([...list])).not.toBe(list);
  });
});
