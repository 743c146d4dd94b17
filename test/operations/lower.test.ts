import { describe, expect, it } from 'vitest';
import { itemAt, valueAt } from '../../src/core/base/errors/lookup.js';
import type { Formula } from '../../src/core/methods/operations/formula.js';
import { operationOf } from '../../src/core/methods/operations/index.js';
import type { Lowering } from '../../src/core/methods/operations/program/lowering.js';
import type { Measurer } from '../../src/core/methods/operations/program/measurer.js';
import { Program, type Value } from '../../src/core/methods/operations/program/program.js';
import type { Pruning } from '../../src/core/methods/operations/votes/consensus.js';
import type { Sparsifier } from '../../src/core/methods/operations/votes/sparsifiers.js';
import type { MagnitudeBound } from '../../src/core/native/job.js';
import type { Window } from '../../src/core/native/measure.js';
import { computedTensor } from '../../src/core/plan/operands/computed.js';
import { lowerTensor } from '../../src/core/plan/operands.js';
import type { PlannedExpression } from '../../src/core/plan/plan.js';
import type { ArithmeticDtype, Dtype } from '../../src/core/tensor/dtype.js';
import { bitsOfFloat } from '../../src/core/tensor/float-bits.js';
import { storedTensor } from '../../src/core/tensor/stored-tensor.js';

const builders = [
  'source',
  'linear',
  'rowLinear',
  'keep',
  'drop',
  'dropRanked',
  'vote',
  'variance',
  'nearSwap',
  'fisher',
  'importance',
  'select',
] as const;

type Call = readonly [builder: (typeof builders)[number], ...given: unknown[]];

const recording = (shape: readonly number[]): { program: Program; calls: Call[] } => {
  const program = new Program(shape);
  const calls: Call[] = [];
  for (const name of builders) {
    const build = program[name].bind(program) as (...given: unknown[]) => Value;
    Object.assign(program, {
      [name]: (...given: unknown[]) => {
        calls.push([name, ...given]);
        return build(...given);
      },
    });
  }
  return { program, calls };
};

interface Findings {
  readonly gram?: readonly number[];
  readonly rowGram?: readonly number[];
  readonly columnGram?: readonly number[];
  readonly columnSums?: readonly number[];
  readonly magnitudes?: readonly number[];
  readonly divergence?: readonly number[];
  readonly nodes?: Readonly<Record<number, readonly number[]>>;
}

const bitsOf = (element: number): number => bitsOfFloat(Math.abs(element));

const measuring = (findings: Findings): { measurer: Measurer; asked: unknown[] } => {
  const asked: unknown[] = [];
  const found = async (kind: keyof Findings, values: readonly Value[]): Promise<Float64Array> => {
    asked.push([kind, values]);
    return Float64Array.from((findings[kind] as readonly number[] | undefined) ?? []);
  };
  const elementsOf = (value: Value): readonly number[] => {
    const elements = 'node' in value ? findings.nodes?.[value.node] : undefined;
    if (elements === undefined) throw new Error(`nothing is known of ${JSON.stringify(value)}`);
    return elements;
  };
  const histogramOf = (value: Value, { low, last, shift }: Window, bins: number) => {
    const counts = new Uint32Array(bins);
    const bits = elementsOf(value).map(bitsOf);
    for (const each of bits)
      if (each >= low && each <= last) {
        const bin = Math.floor((each - low) / 2 ** shift);
        counts[bin] = itemAt(counts, bin) + 1;
      }
    return { counts, above: bits.filter((each) => each > last).length };
  };
  const measurer: Measurer = {
    gram: (_, values) => found('gram', values),
    rowGram: (_, values) => found('rowGram', values),
    columnGram: (_, values) => found('columnGram', values),
    columnSums: (_, value) => found('columnSums', [value]),
    magnitudes: (_, values) => found('magnitudes', values),
    divergence: (_, x, base) => found('divergence', [x, base]),
    alone: async () => new Float64Array(),
    signs: async () => new Float64Array(),
    pursue: async () => [],
    histogram: async ({ elements }, values, windows, bins) => {
      const all = values.map((value, index) => histogramOf(value, itemAt(windows, index), bins));
      return {
        above: all.map(({ above }) => above),
        counts: all.map(({ counts }) => counts),
        exact: windows.map(() => []),
        elements,
        zeros: values.map((value) => elementsOf(value).filter((each) => each === 0).length),
      };
    },
    sampleSize: () => 0,
    findTies: async (_, tied) =>
      tied.map(({ value, bits, ordinal }) => {
        const equal = [...elementsOf(value).entries()].filter(([, each]) => bitsOf(each) === bits);
        return itemAt(itemAt(equal, ordinal - 1), 0) as number;
      }),
  };
  return { measurer, asked };
};

const [base, x, y]: readonly [Value, Value, Value] = [{ source: 0 }, { source: 1 }, { source: 2 }];
const node = (index: number): Value => ({ node: index });

const lowered = async (
  formula: Formula<Value>,
  {
    dtype = 'BF16',
    shape = [2, 2],
    ...findings
  }: Findings & { dtype?: ArithmeticDtype; shape?: number[] } = {},
) => {
  const { program, calls } = recording(shape);
  for (const input of [0, 1, 2])
    program.source(storedTensor(input, { file: 0, begin: 0, end: 8, dtype: 'BF16' }));
  calls.length = 0;
  const { measurer, asked } = measuring(findings);
  const to: Lowering = { tensor: 'w', program, measurer };
  const value = await operationOf(formula).lower(formula, dtype, to);
  return { value, calls, asked };
};

/** The node of x − base. */
const change = (value: Value): Call => ['linear', [value, base], [1, -1]];

const nothing: MagnitudeBound = { bits: 0xffff_ffff, cutoff: 0, early: true };

const half = Math.SQRT1_2;

describe('lowering without statistics', () => {
  it('of a copy adds no node', async () => {
    expect(await lowered({ kind: 'copy', source: x })).toEqual({ value: x, calls: [], asked: [] });
  });

  it('of tensors that must be the same does not take place', async () => {
    await expect((async () => lowered({ kind: 'same', sources: [x, y] }))()).rejects.toThrow(
      /are compared, not lowered/,
    );
  });

  it('of a sum is one node in the output’s dtype', async () => {
    const terms = [
      { source: y, weight: 0.25 },
      { source: x, weight: -1 },
    ];
    expect(await lowered({ kind: 'linear', terms }, { dtype: 'F16' })).toEqual({
      value: node(0),
      calls: [['linear', [y, x], [0.25, -1], 'F16']],
      asked: [],
    });
  });

  it('of rows has a 1 for each that is kept, of the matrix’s rows in the formula’s sense', async () => {
    const formula = {
      kind: 'rowSelect',
      source: x,
      base,
      kept: Buffer.from([0b101]).toString('base64'),
    } as const;
    const kept = async (rows: 'input' | 'output', shape: number[]) =>
      (await lowered({ ...formula, rows }, { shape })).calls;
    expect(await kept('input', [2, 3])).toEqual([
      ['select', { value: x, base, rows: 'input', kept: Uint8Array.of(1, 0, 1), dtype: 'BF16' }],
    ]);
    expect(await kept('output', [4, 3])).toEqual([
      ['select', { value: x, base, rows: 'output', kept: Uint8Array.of(1, 0, 1, 0), dtype: 'BF16' }],
    ]);
  });

  it('of a Fisher-weighted average is one node', async () => {
    const terms = [
      { source: base, importance: x, weight: 0.25 },
      { source: x, importance: base, weight: 0.75 },
    ];
    const { calls } = await lowered({ kind: 'fisher', terms, eps: 1e-6 });
    expect(calls).toEqual([
      [
        'fisher',
        { values: [base, x], importances: [x, base], weights: [0.25, 0.75], eps: 1e-6, dtype: 'BF16' },
      ],
    ]);
  });

  it('of nearswap is one node', async () => {
    const { calls } = await lowered({ kind: 'nearSwap', base, source: x, t: 0.01 });
    expect(calls).toEqual([['nearSwap', { base, value: x, t: 0.01, dtype: 'BF16' }]]);
  });
});

describe('lowering a formula of Gram matrices', () => {
  const slerp = { kind: 'gram', rule: 'slerp', origin: null, of: 'tensor', parameters: { t: 0.5 } } as const;

  it('is a sum with the rule’s coefficients', async () => {
    const { calls, asked } = await lowered({ ...slerp, sources: [x, y] }, { gram: [1, 0, 1] });
    expect(asked).toEqual([['gram', [x, y]]]);
    expect(calls).toEqual([['linear', [x, y], [expect.closeTo(half), expect.closeTo(half)], 'BF16']]);
  });

  it('from an origin measures float32 differences, and gives the origin what is left of 1', async () => {
    const { calls, asked } = await lowered({ ...slerp, origin: base, sources: [x, y] }, { gram: [1, 0, 1] });
    expect(asked).toEqual([['gram', [node(0), node(1)]]]);
    const weights = [1 - 2 * half, half, half].map((weight) => expect.closeTo(weight));
    expect(calls).toEqual([change(x), change(y), ['linear', [base, x, y], weights, 'BF16']]);
  });

  it('of rows has coefficients for each row', async () => {
    const sums = [1, 0, 1, /* parallel: */ 1, 1, 1];
    for (const [of, measure] of [
      ['output', 'rowGram'],
      ['input', 'columnGram'],
    ] as const) {
      const { calls, asked } = await lowered({ ...slerp, of, sources: [x, y] }, { [measure]: sums });
      expect(asked).toEqual([[measure, [x, y]]]);
      const weights = [half, half, 0.5, 0.5].map((weight) => expect.closeTo(weight));
      expect(calls).toEqual([['rowLinear', { values: [x, y], rows: of, weights, dtype: 'BF16' }]]);
    }
  });

  it('takes a vector for one row', async () => {
    const sources = [x, y];
    const vector = await lowered({ ...slerp, of: 'input', sources }, { shape: [4], gram: [1, 0, 1] });
    expect(vector.asked).toEqual([['gram', sources]]);
  });

  it('takes input rows along dimension 0, and in one program no other rows beside them', async () => {
    const program = new Program([3, 2, 5]);
    for (const input of [0, 1])
      program.source(storedTensor(input, { file: 0, begin: 0, end: 60, dtype: 'BF16' }));
    const [first, second] = [{ source: 0 }, { source: 1 }];
    const to: Lowering = { tensor: 'w', program, measurer: measuring({ gram: [1, 0, 1] }).measurer };
    const rows = async (of: 'input' | 'output') => {
      const formula: Formula<Value> = { ...slerp, of, sources: [first, second] };
      return operationOf(formula).lower(formula, 'F32', to);
    };
    expect(program.columns).toBe(5);
    await rows('input');
    expect(program.columns).toBe(10);
    await expect(rows('output')).rejects.toMatchObject({ code: 'MERGE_UNDEFINED' });
  });

  it('says why a rule has no coefficients', async () => {
    const parameters = { weights: [1, 1, 1], normalizeWeights: false, eps: 1e-8 };
    const formula = { ...slerp, rule: 'multislerp', sources: [base, x, y], parameters };
    await expect(lowered(formula, { gram: [1, -0.5, -0.5, 1, -0.5, 1] })).rejects.toThrow(
      expect.objectContaining({ code: 'MERGE_UNDEFINED', message: expect.stringMatching(/cancel out/) }),
    );
  });
});

describe('lowering a consensus', () => {
  const election = { weighted: true, tie: 'negative' } as const;
  const of = (...prunings: (Pruning | null)[]): Formula<Value> => ({
    kind: 'consensus',
    base,
    terms: prunings.map((pruning, index) => ({
      source: itemAt([x, y], index),
      weight: 0.5 + index,
      pruning,
    })),
    election,
    divisor: 'count',
    scale: 0.75,
  });
  const vote = (...changes: Value[]): Call => [
    'vote',
    {
      base,
      changes,
      weights: [0.5, 1.5].slice(0, changes.length),
      election,
      divisor: 'count',
      least: 0,
      scale: 0.75,
      dtype: 'BF16',
    },
  ];
  const pruned = (sparsifier: Sparsifier, rescale: Pruning['rescale'] = null): Pruning => ({
    sparsifier,
    rescale,
  });
  const between = async (pruning: Pruning, findings: Findings = {}) => {
    const { calls, asked } = await lowered(of(pruning), findings);
    expect(calls[0]).toEqual(change(x));
    return { nodes: calls.slice(1, -1), last: calls.at(-1), asked };
  };
  const keep = (lower: MagnitudeBound, upper: MagnitudeBound, scale: number): Call => [
    'keep',
    { value: node(0), by: node(0), lower, upper, scale },
  ];

  it('is a vote over float32 differences, in the output’s dtype', async () => {
    const { value, calls, asked } = await lowered(of(null, null));
    expect(calls).toEqual([change(x), change(y), vote(node(0), node(1))]);
    expect(value).toEqual(node(2));
    expect(asked).toEqual([]);
  });

  it('keeps the largest by a bound, and of equal ones the first', async () => {
    const byMagnitude = pruned({ by: 'magnitude', density: 0.5, least: 0 });
    const clear = await between(byMagnitude, { nodes: { 0: [1, -4, 2, 3] } });
    expect(clear.nodes).toEqual([keep({ bits: bitsOf(3), cutoff: 4, early: true }, nothing, 1)]);
    const tied = await between(byMagnitude, { nodes: { 0: [-3, 4, 3, 3] } });
    expect(tied.nodes).toEqual([keep({ bits: bitsOf(3), cutoff: 1, early: true }, nothing, 1)]);
    expect(tied.last).toEqual(vote(node(1)));
  });

  it('keeps all, or at least one, without a search where the count says so', async () => {
    const everything = { bits: 0, cutoff: Number.MAX_SAFE_INTEGER, early: true };
    const all = await between(pruned({ by: 'magnitude', density: 1, least: 0 }));
    expect(all.nodes).toEqual([keep(everything, nothing, 1)]);
    const none = await between(pruned({ by: 'magnitude', density: 0.1, least: 0 }));
    expect(none.nodes).toEqual([keep(nothing, nothing, 1)]);
    const one = await between(pruned({ by: 'magnitude', density: 0.1, least: 1 }), {
      nodes: { 0: [1, -4, 2, 3] },
    });
    expect(one.nodes).toEqual([keep({ bits: bitsOf(4), cutoff: 4, early: true }, nothing, 1)]);
  });

  it('keeps what lies between two bounds where outliers are dropped, of equal ones the last', async () => {
    const { nodes } = await between(pruned({ by: 'outliers', density: 0.5, gamma: 0.25 }), {
      nodes: { 0: [1, -4, 2, 2] },
    });
    const [lower, upper] = [
      { bits: bitsOf(2), cutoff: 0, early: false },
      { bits: bitsOf(4), cutoff: 0, early: false },
    ];
    expect(nodes).toEqual([keep(lower, upper, 1)]);
  });

  it('drops by a generator that is keyed by the seed alone', async () => {
    const random = (seed: string) => between(pruned({ by: 'random', density: 0.25, seed }, 'density'));
    const [one, again, other] = [await random('a'), await random('a'), await random('b')];
    // Without and with rescaling; the vote uses the latter.
    const key = expect.any(BigInt);
    expect(one.nodes).toEqual([
      ['drop', { value: node(0), key, probability: 0.25, scale: 1 }],
      ['drop', { value: node(0), key, probability: 0.25, scale: 4 }],
    ]);
    expect(one.last).toEqual(vote(node(2)));
    expect(again.nodes).toEqual(one.nodes);
    expect(other.nodes).not.toEqual(one.nodes);
  });

  it('drops by ranks with probabilities around the density', async () => {
    const { nodes } = await between(pruned({ by: 'rank', density: 0.5, epsilon: 0.125, seed: 'a' }));
    const key = expect.any(BigInt);
    expect(nodes).toEqual([['dropRanked', { value: node(0), key, lowest: 0.375, highest: 0.625, scale: 1 }]]);
  });

  it('keeps what reaches a threshold of the whole model', async () => {
    const { nodes } = await between(pruned({ by: 'threshold', atLeast: 0.5 }));
    expect(nodes).toEqual([keep({ bits: bitsOf(0.5), cutoff: 4, early: true }, nothing, 1)]);
  });

  it('restores norms, of all task vectors in one pass', async () => {
    const restored = pruned({ by: 'threshold', atLeast: 0.5 }, 'norm');
    const { calls, asked } = await lowered(of(restored, restored), { magnitudes: [6, 1, 3, 1e-8] });
    expect(asked).toEqual([['magnitudes', [node(0), node(1), node(2), node(3)]]]);
    const scales = calls.flatMap(([kind, given]) =>
      kind === 'keep' ? (given as { scale: number }).scale : [],
    );
    // The second norm is too small to divide by, so its vector stays.
    expect(scales).toEqual([1, 1, 2]);
    expect(calls.at(-1)).toEqual(vote(node(4), node(3)));
  });
});

describe('lowering sce', () => {
  const sce = { kind: 'sce', base, sources: [x, y] } as const;
  const vote = (changes: readonly Value[], weights: readonly number[]): Call => [
    'vote',
    {
      base,
      changes,
      weights,
      election: { weighted: false, tie: 'positive' },
      divisor: 'weights',
      least: 1e-6,
      scale: 1,
      dtype: 'BF16',
    },
  ];

  it('weights task vectors by their mean squares', async () => {
    const { calls, asked } = await lowered({ ...sce, share: 1 }, { gram: [3, 9, 1] });
    expect(asked).toEqual([['gram', [node(0), node(1)]]]);
    expect(calls).toEqual([change(x), change(y), vote([node(0), node(1)], [0.75, 0.25])]);
  });

  it('gives equal weights where nothing has changed', async () => {
    const { calls } = await lowered({ ...sce, share: 1 }, { gram: [0, 0, 0] });
    expect(calls.at(-1)).toEqual(vote([node(0), node(1)], [0.5, 0.5]));
  });

  it('keeps a share of the elements whose variance is not 0, the same of each task vector', async () => {
    const { calls } = await lowered({ ...sce, share: 0.5 }, { gram: [1, 0, 1], nodes: { 2: [0, 2, 1, 0] } });
    const lower = { bits: bitsOf(2), cutoff: 4, early: true };
    expect(calls).toEqual([
      change(x),
      change(y),
      ['variance', [node(0), node(1)]],
      ['keep', { value: node(0), by: node(2), lower, upper: nothing, scale: 1 }],
      ['keep', { value: node(1), by: node(2), lower, upper: nothing, scale: 1 }],
      vote([node(3), node(4)], [0.5, 0.5]),
    ]);
  });
});

describe('lowering fusion', () => {
  it('keeps what is as important as median + 1.5 · interquartile range', async () => {
    const importance = [0, 1, 2, 3, 4, 5, 6, 7, 100];
    const { value, calls, asked } = await lowered(
      { kind: 'fusion', base, source: x },
      { shape: [1, 9], divergence: [0.5], nodes: { 1: importance } },
    );
    expect(asked).toEqual([['divergence', [x, base]]]);
    // Quartiles 2, 4 and 6.
    const lower = { bits: bitsOf(4 + 1.5 * (6 - 2)), cutoff: 9, early: true };
    expect(calls).toEqual([
      change(x),
      ['importance', { value: x, base, divergences: Float64Array.of(0.5) }],
      ['keep', { value: node(0), by: node(1), lower, upper: nothing, scale: 1 }],
      ['linear', [base, node(2)], [1, 1], 'BF16'],
    ]);
    expect(value).toEqual(node(3));
  });
});

describe('lowering a tensor of a plan', () => {
  const stored = (input: number, dtype: Dtype) => storedTensor(input, { file: 0, begin: 0, end: 8, dtype });
  const lower = async (dtype: Dtype, expression: PlannedExpression) => {
    const { program, calls } = recording([2, 2]);
    const { measurer } = measuring({});
    const value = await lowerTensor({ dtype, expression }, { tensor: 'w', program, measurer });
    return { value, calls };
  };

  it('rounds a recipe in it to that recipe’s dtype, before what is made of it', async () => {
    const inner: PlannedExpression = { kind: 'linear', terms: [{ source: stored(1, 'F32'), weight: 0.5 }] };
    const { calls } = await lower('F16', {
      kind: 'linear',
      terms: [
        { source: stored(0, 'BF16'), weight: 2 },
        { source: computedTensor('BF16', inner), weight: 3 },
      ],
    });
    expect(calls).toEqual([
      ['source', stored(0, 'BF16')],
      ['source', stored(1, 'F32')],
      ['linear', [{ source: 1 }], [0.5], 'BF16'],
      ['linear', [{ source: 0 }, node(0)], [2, 3], 'F16'],
    ]);
  });

  it('moves elements of a dtype that no kernel computes in as those of one with as many bits', async () => {
    const kept = Buffer.from([0b01]).toString('base64');
    const asFloats = new Map<Dtype, ArithmeticDtype>([
      ['I8', 'F8_E4M3'],
      ['U16', 'BF16'],
      ['I32', 'F32'],
      ['F16', 'F16'],
    ]);
    for (const dtype of asFloats.keys()) {
      const as = valueAt(asFloats, dtype);
      const { calls } = await lower(dtype, {
        kind: 'rowSelect',
        source: stored(0, dtype),
        base: stored(1, dtype),
        rows: 'input',
        kept,
      });
      expect(calls).toEqual([
        ['source', stored(0, as)],
        ['source', stored(1, as)],
        [
          'select',
          { value: { source: 0 }, base: { source: 1 }, rows: 'input', kept: Uint8Array.of(1, 0), dtype: as },
        ],
      ]);
    }
  });
});
