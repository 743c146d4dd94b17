import { expect, describe as group, it } from 'vitest';
import type { Sparsifier } from '../../src/core/methods/operations/votes/sparsifiers.js';
import { computedTensor } from '../../src/core/plan/operands/computed.js';
import {
  describe,
  keepsBits,
  keyOf,
  passesOf,
  rowsTogether,
  sourcesOf,
} from '../../src/core/plan/operands.js';
import type { ComputedTensor, Operand, PlannedExpression } from '../../src/core/plan/plan.js';
import type { Dtype } from '../../src/core/tensor/dtype.js';
import type { StoredTensor } from '../../src/core/tensor/stored-tensor.js';
import { storedTensor } from '../../src/core/tensor/stored-tensor.js';

const stored = (input: number, begin = 0, dtype: Dtype = 'BF16'): StoredTensor =>
  storedTensor(input, { file: 0, begin, end: begin + 8, dtype });

const computed = (expression: PlannedExpression, dtype: Dtype = 'BF16'): ComputedTensor =>
  computedTensor(dtype, expression);

const [x, y, z] = [stored(0), stored(1), stored(2)];

const sumOf = (...sources: Operand[]): PlannedExpression => ({
  kind: 'linear',
  terms: sources.map((source) => ({ source, weight: 1 })),
});

const slerpOf = (...sources: Operand[]): PlannedExpression => ({
  kind: 'gram',
  rule: 'slerp',
  origin: null,
  sources,
  of: 'tensor',
  parameters: { t: 0.5 },
});

const prunedBy = (sparsifier: Sparsifier, base: Operand, source: Operand): PlannedExpression => ({
  kind: 'consensus',
  base,
  terms: [{ source, weight: 1, pruning: { sparsifier, rescale: null } }],
  election: null,
  divisor: 'none',
  scale: 1,
});

const byRank: Sparsifier = { by: 'rank', density: 0.5, epsilon: 0.1, seed: 's' };
const byMagnitude: Sparsifier = { by: 'magnitude', density: 0.5, least: 0 };

const nameOf = ({ input }: StoredTensor): string => ['x', 'y', 'z'][input] as string;

group('the sources of an expression', () => {
  it('are its byte ranges in order, those of recipes in it in their place, and twice what is read twice', () => {
    const inner = computed(sumOf(y, z));
    expect(sourcesOf(sumOf(x, inner, y))).toEqual([x, y, z, y]);
    expect(sourcesOf(sumOf(computed(sumOf(inner, x)), inner))).toEqual([y, z, x, y, z]);
    expect(sourcesOf({ kind: 'copy', source: z })).toEqual([z]);
    expect(sourcesOf({ kind: 'same', sources: [y, x] })).toEqual([y, x]);
  });
});

group('the passes of an expression', () => {
  it('are none where nothing is measured', () => {
    expect(passesOf(sumOf(x, computed(sumOf(y))))).toEqual([]);
    expect(passesOf({ kind: 'copy', source: x })).toEqual([]);
  });

  it('are those of recipes in it first, each over its byte ranges without repetitions', () => {
    const inner = computed(slerpOf(y, z));
    expect(passesOf(prunedBy(byMagnitude, x, inner))).toEqual([
      { what: 'Gram matrices', sources: [y, z] },
      { what: 'thresholds', sources: [x, y, z] },
    ]);
    expect(passesOf(slerpOf(x, computed(sumOf(x, y))))).toEqual([{ what: 'Gram matrices', sources: [x, y] }]);
  });

  it('are one for each use of a recipe in it', () => {
    const inner = computed(slerpOf(y, z));
    expect(passesOf(sumOf(inner, inner)).map(({ what }) => what)).toEqual(['Gram matrices', 'Gram matrices']);
  });
});

group('an expression', () => {
  it('needs whole rows if it, or one at any depth in it, prunes by ranks', () => {
    const ranked = prunedBy(byRank, x, y);
    expect(rowsTogether(ranked)).toBe(1);
    expect(rowsTogether(sumOf(z, computed(sumOf(computed(ranked)))))).toBe(1);
    expect(rowsTogether(prunedBy(byMagnitude, x, y))).toBe(0);
    expect(rowsTogether(slerpOf(x, computed(sumOf(y))))).toBe(0);
  });

  it('keeps bits if it moves or selects what is stored, and not what is computed', () => {
    const rows = { kind: 'rowSelect', base: x, rows: 'input', kept: 'AA==' } as const;
    expect(keepsBits({ kind: 'copy', source: x })).toBe(true);
    expect(keepsBits({ kind: 'same', sources: [x, y] })).toBe(true);
    expect(keepsBits({ ...rows, source: y })).toBe(true);
    expect(keepsBits({ ...rows, source: computed(sumOf(y)) })).toBe(false);
    expect(keepsBits(sumOf(x))).toBe(false);
  });

  it('reads as a sum of names, with recipes in it in brackets where they are more than a name', () => {
    const inner = computed(sumOf(y, z));
    expect(describe(sumOf(x, inner), nameOf)).toBe('1 x + 1 (1 y + 1 z)');
    expect(describe(sumOf(x, computed(sumOf(y))), nameOf)).toBe('1 x + 1 y');
    expect(describe(sumOf(inner), nameOf)).toBe('(1 y + 1 z)');
  });

  it('has in its key the range and dtype of each source, and the dtype of each recipe in it', () => {
    const inner = computed(sumOf(y), 'F32');
    expect(keyOf({ kind: 'copy', source: x }, nameOf)).toBe('copy x:0-8:BF16');
    expect(keyOf(sumOf(stored(2, 8, 'F16'), inner), nameOf)).toBe(
      'linear 1 z:8-16:F16 1 (F32 linear 1 y:0-8:BF16)',
    );
    expect(keyOf({ kind: 'nearSwap', base: x, source: inner, t: 0.5 }, nameOf)).toBe(
      '{"kind":"nearSwap","base":"x:0-8:BF16","source":"(F32 linear 1 y:0-8:BF16)","t":0.5}',
    );
  });
});
