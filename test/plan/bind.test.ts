import { describe, expect, it } from 'vitest';
import type { Expression } from '../../src/core/methods/operations/expression.js';
import { binder } from '../../src/core/plan/compile/bind.js';
import type { OpenedModel } from '../../src/core/plan/compile/inputs/models.js';
import { computedTensor } from '../../src/core/plan/operands/computed.js';
import type { Operand, PlannedExpression } from '../../src/core/plan/plan.js';
import type { ArithmeticDtype, Dtype } from '../../src/core/tensor/dtype.js';
import type { Shape, TensorReference } from '../../src/core/tensor/reference.js';
import { storedTensor } from '../../src/core/tensor/stored-tensor.js';

type Tensors = Readonly<Record<string, readonly [Dtype, Shape, PlannedExpression?]>>;

/** A model as the binder sees it: input `input`, with each tensor at bytes 0 to 8 of its file. */
const model = (input: number, tensors: Tensors): OpenedModel => {
  const references = new Map(
    Object.entries(tensors).map(([name, [dtype, shape]]): [string, TensorReference] => [
      name,
      { file: 0, begin: 0, end: 8, dtype, shape },
    ]),
  );
  const operandOf = (name: string): Operand | undefined => {
    const found = tensors[name];
    if (found === undefined) return undefined;
    const [dtype, , expression] = found;
    return expression === undefined ? stored(input, dtype) : computedTensor(dtype, expression);
  };
  return {
    role: 'model',
    checkpoint: { path: `/models/${input}`, tensors: references },
    operandOf,
  } as unknown as OpenedModel;
};

const stored = (input: number, dtype: Dtype) => storedTensor(input, { file: 0, begin: 0, end: 8, dtype });

const shape = [2, 2];

const bound = (models: readonly OpenedModel[], expression: Expression, dtype?: ArithmeticDtype, name = 'w') =>
  binder(models, dtype)({ name, like: { model: 0, tensor: name } }, expression);

const copyOf = (index: number): Expression => ({ kind: 'copy', source: { model: index } });

const mean: Expression = {
  kind: 'linear',
  terms: [
    { source: { model: 0 }, weight: 0.5 },
    { source: { model: 1 }, weight: 0.5 },
  ],
};

const rows: Expression = {
  kind: 'rowSelect',
  source: { model: 1 },
  base: { model: 0 },
  rows: 'input',
  kept: 'AA==',
};

describe('the dtype of an output', () => {
  const models = [model(0, { w: ['BF16', shape] }), model(1, { w: ['F32', shape] })];

  it('is the first model’s, and operands keep their own', () => {
    expect(bound(models, mean)).toEqual({
      dtype: 'BF16',
      expression: {
        kind: 'linear',
        terms: [
          { source: stored(0, 'BF16'), weight: 0.5 },
          { source: stored(1, 'F32'), weight: 0.5 },
        ],
      },
    });
  });

  it('is the recipe’s where it has one, also of what is copied, which is then converted', () => {
    expect(bound(models, mean, 'F16').dtype).toBe('F16');
    const converted = { kind: 'linear', terms: [{ source: stored(1, 'F32'), weight: 1 }] };
    expect(bound(models, copyOf(1), 'F16')).toEqual({ dtype: 'F16', expression: converted });
    expect(bound(models, copyOf(1))).toEqual({ dtype: 'BF16', expression: converted });
  });

  it('leaves a copy of that dtype a copy, and one term of weight 1 is a copy', () => {
    const copied = { dtype: 'BF16', expression: { kind: 'copy', source: stored(0, 'BF16') } };
    expect(bound(models, copyOf(0))).toEqual(copied);
    expect(bound(models, copyOf(0), 'BF16')).toEqual(copied);
    expect(bound(models, { kind: 'linear', terms: [{ source: { model: 0 }, weight: 1 }] })).toEqual(copied);
    expect(
      bound(models, { kind: 'linear', terms: [{ source: { model: 0 }, weight: 2 }] }).expression.kind,
    ).toBe('linear');
  });

  it('is no matter to integers, whose bytes a copy moves', () => {
    const integers = [model(0, { w: ['I64', shape] })];
    expect(bound(integers, copyOf(0), 'F16')).toEqual({
      dtype: 'I64',
      expression: { kind: 'copy', source: stored(0, 'I64') },
    });
  });
});

describe('integers that would be averaged', () => {
  it('must be the same in all models', () => {
    const models = [model(0, { w: ['I64', shape] }), model(1, { w: ['I64', shape] })];
    expect(bound(models, mean, 'F16')).toEqual({
      dtype: 'I64',
      expression: { kind: 'same', sources: [stored(0, 'I64'), stored(1, 'I64')] },
    });
  });

  it('are compared with all that a recipe in a model’s place compares', () => {
    const nested: PlannedExpression = { kind: 'same', sources: [stored(1, 'I64'), stored(2, 'I64')] };
    const models = [model(0, { w: ['I64', shape] }), model(1, { w: ['I64', shape, nested] })];
    expect(bound(models, mean).expression).toEqual({
      kind: 'same',
      sources: [stored(0, 'I64'), stored(1, 'I64'), stored(2, 'I64')],
    });
  });
});

describe('a recipe in a model’s place', () => {
  const inner: PlannedExpression = { kind: 'linear', terms: [{ source: stored(3, 'BF16'), weight: 0.5 }] };
  const models = [model(0, { w: ['BF16', shape, inner] }), model(1, { w: ['BF16', shape] })];

  it('is what a copy of it computes', () => {
    expect(bound(models, copyOf(0))).toEqual({ dtype: 'BF16', expression: inner });
  });

  it('is rounded to its own dtype before it is converted or averaged', () => {
    const source = computedTensor('BF16', inner);
    expect(bound(models, copyOf(0), 'F32').expression).toEqual({
      kind: 'linear',
      terms: [{ source, weight: 1 }],
    });
    expect(bound(models, mean).expression).toEqual({
      kind: 'linear',
      terms: [
        { source, weight: 0.5 },
        { source: stored(1, 'BF16'), weight: 0.5 },
      ],
    });
  });
});

describe('weights of a quantised module', () => {
  const tensors: Tensors = { 'm.weight': ['F8_E4M3', shape], 'm.weight_scale': ['F32', [1]] };
  const models = [model(0, tensors), model(1, tensors)];

  it('are copied as they are, whatever dtype the recipe has', () => {
    for (const name of Object.keys(tensors))
      expect(bound(models, copyOf(0), 'BF16', name).expression.kind, name).toBe('copy');
  });

  it('are never computed with, nor their scales', () => {
    for (const tensor of Object.keys(tensors))
      expect(() => bound(models, mean, undefined, tensor), tensor).toThrow(
        expect.objectContaining({ code: 'QUANTISED_WEIGHTS', details: { model: '/models/0', tensor } }),
      );
  });
});

describe('rows that are selected', () => {
  it('are bits of one dtype, whatever it is', () => {
    for (const dtype of ['BF16', 'I16', 'U8'] as const) {
      const models = [model(0, { w: [dtype, shape] }), model(1, { w: [dtype, shape] })];
      expect(bound(models, rows)).toEqual({
        dtype,
        expression: { ...rows, source: stored(1, dtype), base: stored(0, dtype) },
      });
    }
  });

  it('are converted to the output’s dtype where theirs is another', () => {
    const models = [model(0, { w: ['BF16', shape] }), model(1, { w: ['F32', shape] })];
    const inF32 = (input: number, dtype: Dtype) =>
      computedTensor('F32', { kind: 'linear', terms: [{ source: stored(input, dtype), weight: 1 }] });
    expect(binder(models, undefined)({ name: 'w', like: { model: 1, tensor: 'w' } }, rows)).toEqual({
      dtype: 'F32',
      expression: { ...rows, source: stored(1, 'F32'), base: inF32(0, 'BF16') },
    });
    const pair = [model(0, { w: ['BF16', shape] }), model(1, { w: ['BF16', shape] })];
    expect(bound(pair, rows, 'BF16').expression).toEqual({
      ...rows,
      source: stored(1, 'BF16'),
      base: stored(0, 'BF16'),
    });
    expect(bound(pair, rows, 'F32')).toEqual({
      dtype: 'F32',
      expression: { ...rows, source: inF32(1, 'BF16'), base: inF32(0, 'BF16') },
    });
  });

  it('cannot be of two dtypes that are no floating-point numbers, or quantised', () => {
    const bind = (tensors: Tensors, other: Tensors, name = 'w') =>
      binder([model(0, tensors), model(1, other)], undefined)(
        { name, like: { model: 1, tensor: name } },
        rows,
      );
    expect(() => bind({ w: ['I16', shape] }, { w: ['U16', shape] })).toThrow(
      expect.objectContaining({ code: 'DTYPE_MISMATCH' }),
    );
    const quantised: Tensors = { 'm.weight': ['F8_E4M3', shape], 'm.weight_scale': ['F32', [1]] };
    const plain: Tensors = { 'm.weight': ['BF16', shape] };
    for (const [base, expert] of [
      [plain, quantised],
      [quantised, plain],
    ] as const)
      expect(() => bind(base, expert, 'm.weight')).toThrow(
        expect.objectContaining({ code: 'QUANTISED_WEIGHTS' }),
      );
  });
});

describe('the shape of an output', () => {
  it('is that of every tensor in its expression', () => {
    const models = [model(0, { w: ['BF16', [2, 2]] }), model(1, { w: ['BF16', [4]] })];
    expect(() => bound(models, mean)).toThrow(
      expect.objectContaining({
        code: 'SHAPE_MISMATCH',
        details: { first: '/models/0', other: '/models/1', tensors: ['w [4] against [2, 2] of w'] },
      }),
    );
  });

  it('is that of the tensor it is like, whatever its own name', () => {
    const models = [model(0, { a: ['BF16', shape], b: ['BF16', shape] })];
    const bind = binder(models, undefined);
    const wanted = { name: 'new', like: { model: 0, tensor: 'a' } };
    expect(bind(wanted, { kind: 'copy', source: { model: 0, tensor: 'b' } })).toEqual({
      dtype: 'BF16',
      expression: { kind: 'copy', source: stored(0, 'BF16') },
    });
  });
});
