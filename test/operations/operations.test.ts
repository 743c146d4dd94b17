import { describe, expect, it } from 'vitest';
import type { Formula } from '../../src/core/methods/operations/formula.js';
import {
  isMove,
  mapOperands,
  operandShapes,
  operandsOf,
  operationOf,
  statisticsOf,
  threadBytesOf,
} from '../../src/core/methods/operations/index.js';
import type { Pruning } from '../../src/core/methods/operations/votes/consensus.js';

const byMagnitude: Pruning = { sparsifier: { by: 'magnitude', density: 0.2, least: 0 }, rescale: 'norm' };
const byRandom: Pruning = { sparsifier: { by: 'random', density: 0.5, seed: 's' }, rescale: 'density' };
const byRank: Pruning = {
  sparsifier: { by: 'rank', density: 0.5, epsilon: 0.1, seed: 's' },
  rescale: null,
};

const formulas: readonly {
  readonly formula: Formula<string>;
  readonly operands: readonly string[];
  readonly statistics: readonly (readonly [string, ...string[]])[];
  readonly words: string;
}[] = [
  { formula: { kind: 'copy', source: 'x' }, operands: ['x'], statistics: [], words: 'x' },
  { formula: { kind: 'same', sources: ['x', 'y'] }, operands: ['x', 'y'], statistics: [], words: 'x' },
  {
    formula: {
      kind: 'linear',
      terms: [
        { source: 'x', weight: 0.123456 },
        { source: 'y', weight: -1 },
        { source: 'x', weight: 2 },
      ],
    },
    operands: ['x', 'y', 'x'],
    statistics: [],
    words: '0.1235 x − 1 y + 2 x',
  },
  {
    formula: { kind: 'rowSelect', source: 'x', base: 'base', rows: 'input', kept: 'AA==' },
    operands: ['x', 'base'],
    statistics: [],
    words: 'x in part, else base',
  },
  {
    formula: {
      kind: 'gram',
      rule: 'slerp',
      origin: null,
      sources: ['x', 'y'],
      of: 'tensor',
      parameters: { t: 0.5 },
    },
    operands: ['x', 'y'],
    statistics: [['Gram matrices', 'x', 'y']],
    words: 'slerp of x, y at t 0.5',
  },
  {
    formula: { kind: 'gram', rule: 'karcher', origin: 'base', sources: ['x'], of: 'input', parameters: {} },
    operands: ['base', 'x'],
    statistics: [['Gram matrices', 'base', 'x']],
    words: 'karcher of x from base',
  },
  {
    formula: {
      kind: 'consensus',
      base: 'base',
      terms: [
        { source: 'x', weight: 1, pruning: null },
        { source: 'y', weight: 0.5, pruning: byMagnitude },
        { source: 'z', weight: 1, pruning: byRandom },
      ],
      election: { weighted: true, tie: 'positive' },
      divisor: 'weights',
      scale: 0.5,
    },
    operands: ['base', 'x', 'y', 'z'],
    statistics: [
      ['thresholds', 'base', 'y'],
      ['norms', 'base', 'y'],
    ],
    words: 'base + 0.5 · [1 Δx + 0.5 Δy (20 % by magnitude) + 1 Δz (50 % by random)] of one sign',
  },
  {
    formula: {
      kind: 'consensus',
      base: 'base',
      terms: [{ source: 'x', weight: 1, pruning: byRank }],
      election: null,
      divisor: 'none',
      scale: 1,
    },
    operands: ['base', 'x'],
    statistics: [],
    words: 'base + [Δx (50 % by rank)]',
  },
  {
    formula: { kind: 'sce', base: 'base', sources: ['x', 'y'], share: 0.25 },
    operands: ['base', 'x', 'y'],
    statistics: [
      ['variances', 'base', 'x', 'y'],
      ['thresholds', 'base', 'x', 'y'],
      ['Gram matrices', 'base', 'x', 'y'],
    ],
    words: 'base + changes of x, y, the 0.25 that vary most',
  },
  {
    formula: { kind: 'sce', base: 'base', sources: ['x'], share: 1 },
    operands: ['base', 'x'],
    statistics: [['Gram matrices', 'base', 'x']],
    words: 'base + changes of x, the 1 that vary most',
  },
  {
    formula: {
      kind: 'fisher',
      terms: [
        { source: 'x', importance: 'f', weight: 0.25 },
        { source: 'y', importance: 'g', weight: 0.75 },
      ],
      eps: 1e-6,
    },
    operands: ['x', 'f', 'y', 'g'],
    statistics: [],
    words: 'mean of x by 0.25 f, y by 0.75 g',
  },
  {
    formula: {
      kind: 'regMean',
      terms: [
        { source: 'x', gram: 'f', weight: 0.25 },
        { source: 'y', gram: 'g', weight: 0.75 },
      ],
      scaling: 0.9,
      ridge: 0,
    },
    operands: ['x', 'f', 'y', 'g'],
    statistics: [['finite Gram matrices', 'f', 'g']],
    words: 'RegMean of x by 0.25 f, y by 0.75 g',
  },
  {
    formula: { kind: 'spectral', rule: 'iso_c', base: 'base', sources: ['x', 'y'], scale: 0.5 },
    operands: ['base', 'x', 'y'],
    statistics: [],
    words: 'base + 0.5 · Iso-C of x, y',
  },
  {
    formula: { kind: 'spectral', rule: 'tsv_m', base: 'base', sources: ['x', 'y'], scale: 0.5 },
    operands: ['base', 'x', 'y'],
    statistics: [],
    words: 'base + 0.5 · TSV-Merge of x, y',
  },
  {
    formula: { kind: 'nearSwap', base: 'base', source: 'x', t: 0.001 },
    operands: ['base', 'x'],
    statistics: [],
    words: 'base towards x by 0.001',
  },
  {
    formula: { kind: 'ram', base: 'base', sources: ['x', 'y'], epsilon: 0.001, bonus: null },
    operands: ['base', 'x', 'y'],
    statistics: [],
    words: 'base + mean of the changes above 0.001 of x, y',
  },
  {
    formula: { kind: 'ram', base: 'base', sources: ['x'], epsilon: 0, bonus: { rate: 0.1, most: 0.2 } },
    operands: ['base', 'x'],
    statistics: [['overlaps', 'base', 'x']],
    words: 'base + mean of the changes above 0 of x, those of one alone · (1 + 0.1 · ρ up to 0.2)',
  },
  {
    formula: { kind: 'fusion', base: 'base', source: 'x' },
    operands: ['base', 'x'],
    statistics: [
      ['divergences', 'base', 'x'],
      ['quantiles', 'base', 'x'],
    ],
    words: 'x where it differs much (change × divergence), else base',
  },
];

const labelled = formulas.map((each) => [each.words, each] as const);

describe('the formula', () => {
  it.each(labelled)('%s has its operands in order', (_, { formula, operands }) => {
    expect(operandsOf(formula)).toEqual(operands);
  });

  it.each(labelled)('%s is the same over other operands, and stays as it was', (_, { formula, operands }) => {
    const before = structuredClone(formula);
    const asked: string[] = [];
    const numbered = mapOperands(formula, (operand) => {
      asked.push(operand);
      return asked.length;
    });
    expect(asked).toEqual(operands);
    expect(operandsOf(numbered)).toEqual(operands.map((_operand, index) => index + 1));
    expect(mapOperands(numbered, (index) => operands[index - 1])).toEqual(before);
    expect(formula).toEqual(before);
  });

  it.each(labelled)('%s measures what it says of whole tensors', (_, { formula, statistics }) => {
    expect(statisticsOf(formula).map(({ what, operands }) => [what, ...operands])).toEqual(statistics);
  });

  it.each(labelled)('%s reads so', (words, { formula }) => {
    expect(operationOf(formula).describe(formula)).toBe(words);
  });
});

describe('an operation', () => {
  it('moves bytes if it is copy or same, and takes bits if it selects rows too', () => {
    const kinds = [...new Set(formulas.map(({ formula }) => formula))];
    const of = (is: (formula: Formula<string>) => boolean) =>
      new Set(kinds.filter(is).map(({ kind }) => kind));
    expect(of(isMove)).toEqual(new Set(['copy', 'same']));
    expect(of((formula) => operationOf(formula).takesBits === true)).toEqual(
      new Set(['copy', 'same', 'rowSelect']),
    );
  });

  it('needs whole rows only where a task vector is pruned by the ranks in its rows', () => {
    const needing = formulas.filter(({ formula }) => operationOf(formula).rowsTogether?.(formula) === 1);
    expect(needing.map(({ words }) => words)).toEqual(['base + [Δx (50 % by rank)]']);
  });

  it('takes more memory than tiles only to solve a system, half of which is stored in float64, or to factorise', () => {
    const all = formulas.filter(({ formula }) => threadBytesOf(formula, [4096, 14336]) > 0);
    const taking = all.filter(({ formula }) => formula.kind !== 'factor');
    expect(taking.map(({ formula }) => formula.kind)).toEqual(['regMean', 'spectral', 'spectral']);
    const formula = taking[0]?.formula as Formula<string>;
    expect(threadBytesOf(formula, [4096, 14336]) / 1e9).toBeCloseTo(1.01, 2);
    const change = taking[1]?.formula as Formula<string>;
    expect(threadBytesOf(change, [4096, 14336]) / 1e9).toBeCloseTo(0.66, 2);
    const changes = taking[2]?.formula as Formula<string>;
    expect(threadBytesOf(changes, [4096, 14336]) / 1e9).toBeCloseTo(1.26, 2);
    expect(operandShapes(formula, [9, 37])).toEqual([
      [9, 37],
      [37, 37],
      [9, 37],
      [37, 37],
    ]);
    expect(operationOf(formula).refusal?.(formula, { name: 'w', dtype: 'BF16', shape: [3] })).toMatch(
      /no matrix of a linear layer/,
    );
  });

  it('takes memory by rank to factorise, the same for both sides', () => {
    const bytesOf = (side: 'left' | 'right', shape: [number, number], rank: number) => {
      const formula: Formula<string> = {
        ...{ kind: 'factor', of: 'w', side, shape },
        terms: [{ source: 'x', coefficient: 1, weight: 1 }],
      };
      return threadBytesOf(formula, side === 'left' ? [shape[0], rank] : [rank, shape[1]]);
    };
    expect(bytesOf('left', [53248, 16384], 4096)).toBe(bytesOf('right', [53248, 16384], 4096));
    expect(bytesOf('left', [53248, 16384], 4096) / 1e9).toBeCloseTo(4.87, 2);
    expect(bytesOf('left', [16384, 53248], 4096) / 1e9).toBeCloseTo(7.78, 2);
    expect(bytesOf('left', [16384, 53248], 16) / 1e6).toBeCloseTo(61.4, 1);
    // No more columns than the matrix has.
    expect(bytesOf('left', [64, 64], 64)).toBe(bytesOf('left', [64, 64], 60) + 4 * (64 + 64) * 4);
  });

  it('refuses what cannot be the tensor that it is said to be', () => {
    const target = { name: 'w', dtype: 'BF16', shape: [2, 3] } as const;
    const refusalOf = (formula: Formula<string>, shape: readonly number[] = target.shape) =>
      operationOf(formula).refusal?.(formula, { ...target, shape });
    const rows = (kept: string): Formula<string> => ({
      kind: 'rowSelect',
      source: 'x',
      base: 'y',
      rows: 'input',
      kept,
    });
    expect(refusalOf(rows(Buffer.from([0b101]).toString('base64')))).toBeUndefined();
    expect(refusalOf(rows(Buffer.from([1, 1]).toString('base64')))).toMatch(/one bit for each row/);
    expect(refusalOf(rows(Buffer.from([0b101]).toString('base64')), [6])).toMatch(/one bit for each row/);
    const slerp = { kind: 'gram', rule: 'slerp', origin: null, of: 'tensor', parameters: { t: 1 } } as const;
    expect(refusalOf({ ...slerp, sources: ['x', 'y'] })).toBeUndefined();
    expect(refusalOf({ ...slerp, sources: ['x'] })).toMatch(/rule slerp/);
    const many = Array.from({ length: 65 }, () => 'x');
    expect(refusalOf({ kind: 'sce', base: 'y', sources: many, share: 1 })).toMatch(/more than 64/);
    expect(refusalOf({ kind: 'sce', base: 'y', sources: many.slice(1), share: 1 })).toBeUndefined();
  });
});
