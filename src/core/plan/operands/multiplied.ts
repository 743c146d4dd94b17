import * as z from 'zod';
import { itemAt, pick } from '../../base/errors/lookup.js';
import { type Lowering, takeRows } from '../../methods/operations/program/lowering.js';
import type { Value } from '../../methods/operations/program/program.js';
import type { Multiplier } from '../../models/adapters/kinds/multiplied.js';
import { mostSmall } from '../../models/adapters/kinds/tuner.js';
import { type ArithmeticDtype, isFloating } from '../../tensor/dtype.js';
import { elementsIn, operandKind, type StoredTensor } from '../../tensor/stored-tensor.js';
import { count, dtype, parseBy, type Refuse } from '../parse.js';
import type { OperandKind, Target } from './kind.js';
import { butterflyOrder } from './rotations/butterfly.js';
import { reflectionsOf } from './rotations/reflections.js';
import { rotationsOf } from './rotations/rotations.js';
import { numbersOf } from './small-numbers.js';
import { keyOfStored, parseSource, stored } from './stored.js';

type Step = Multiplier<StoredTensor>;

/**
 * A model's tensor multiplied by an adapter's scales, block rotations, or reflections. Dimensions after the
 * first are flattened into columns. Products are float64; each step is rounded to float32, and the result
 * once to `dtype` (docs/numbers.md).
 */
export interface MultipliedTensor {
  readonly [operandKind]: 'multiplied';
  readonly dtype: ArithmeticDtype;
  readonly tensor: StoredTensor;
  readonly multipliers: readonly Step[];
}

export const multipliedTensor = (tensor: Omit<MultipliedTensor, typeof operandKind>): MultipliedTensor => ({
  [operandKind]: 'multiplied',
  ...pick(tensor, 'dtype', 'tensor', 'multipliers'),
});

const source = z.unknown();
const step = z.discriminatedUnion('by', [
  z.strictObject({ by: z.literal('scales'), rows: z.enum(['output', 'input']), source }),
  z.strictObject({
    by: z.literal('blocks'),
    size: count.positive(),
    blocks: count.positive(),
    skew: z.enum(['upper', 'lower', 'whole']),
    terms: z.int().min(1).max(1000).nullable(),
    limit: z.number().nonnegative().nullable(),
    butterfly: z.strictObject({ stage: count, stages: z.int().min(2).max(32) }).nullable(),
    source,
  }),
  z.strictObject({
    by: z.literal('reflections'),
    vectors: count.positive(),
    orthogonal: z.boolean(),
    source,
  }),
]);
const schema = z.strictObject({ dtype, tensor: z.unknown(), multipliers: z.array(step).min(1).max(40) });

const checkStep = (one: Step, { shape, elements }: Target, refuse: Refuse): void => {
  const [rows = 1] = shape.length > 1 ? shape : [1];
  const columns = elements / rows;
  const expected = {
    scales: () => (one.by === 'scales' && one.rows === 'output' ? rows : (shape.slice(1, -1)[0] ?? columns)),
    reflections: () => (one.by === 'reflections' ? one.vectors * columns : 0),
    blocks: () =>
      one.by === 'blocks'
        ? one.blocks * (one.skew === 'whole' ? one.size ** 2 : (one.size * (one.size - 1)) / 2)
        : 0,
  }[one.by]();
  if (!isFloating(one.source.dtype) || elementsIn(one.source) !== expected)
    refuse(`its ${one.by} are not as many as it needs, ${expected}`);
  if (one.by === 'blocks') {
    if (columns % one.size !== 0 || one.blocks > columns / one.size)
      refuse('its columns are no whole blocks');
    if (one.blocks * one.size ** 2 > mostSmall) refuse(`its blocks have more than ${mostSmall} elements`);
    if (one.butterfly !== null && butterflyOrder(columns, one.size, one.butterfly) === undefined)
      refuse('its blocks form no butterfly');
  } else if (expected > mostSmall) refuse(`a factor has more than ${mostSmall} elements`);
};

export const multiplied: OperandKind<MultipliedTensor> = {
  key: 'multipliers',
  parse: (value, context) => {
    const { target, refuse } = context;
    const { dtype, ...given } = parseBy(schema, value, refuse);
    const tensor = stored.parse(given.tensor, context);
    const multipliers = given.multipliers.map((one) => ({
      ...one,
      source: parseSource(one.source, context),
    }));
    if (!isFloating(dtype) || !isFloating(tensor.dtype))
      return refuse('a matrix with an adapter is of a dtype that is no floating-point one');
    if (target.elements === 0) return refuse('a tensor without elements is multiplied');
    for (const one of multipliers) checkStep(one, target, refuse);
    return multipliedTensor({ dtype, tensor, multipliers });
  },
  sources: ({ tensor, multipliers }) => [tensor, ...multipliers.map((one) => one.source)],
  factors: ({ multipliers }) => multipliers.map((one) => one.source),
  statistics: ({ multipliers }) => [{ what: 'small factors', sources: multipliers.map((one) => one.source) }],
  tensor: ({ tensor }) => tensor,
  describe: ({ tensor }, nameOf) => nameOf(tensor),
  keyText: ({ dtype, tensor, multipliers }, identify) =>
    `{${dtype} ${keyOfStored(tensor, identify)} by ${multipliers
      .map(({ source, ...how }) => `${JSON.stringify(how)} ${keyOfStored(source, identify)}`)
      .join(' by ')}}`,
  weights: ({ tensor }) => new Map([[tensor.input, 1]]),
  lower: async ({ dtype, tensor, multipliers }, to) => {
    takeRows(to, 'first', 'an adapter');
    const { program } = to;
    let value = program.source(tensor);
    for (const [index, one] of multipliers.entries())
      value = await lowerStep(one, value, index === multipliers.length - 1 ? dtype : 'F32', to);
    program.markResult(value);
    return value;
  },
  needsRows: true,
};

const lowerStep = async (one: Step, value: Value, dtype: ArithmeticDtype, to: Lowering): Promise<Value> => {
  const { program } = to;
  const numbers = await numbersOf(to, one.source);
  if (one.by === 'scales') {
    // A vector counts as one row.
    const rows = program.shape.length > 1 ? one.rows : 'input';
    // In a convolution, each input has a kernel of columns.
    const each = rows === 'input' ? program.columns / numbers.length : 1;
    const weights = Float64Array.from({ length: numbers.length * each }, (_, at) =>
      itemAt(numbers, Math.floor(at / each)),
    );
    return program.rowLinear({ values: [value], rows, weights, dtype });
  }
  const columns = program.columns;
  const turned =
    one.by === 'reflections'
      ? { size: 0, numbers: reflectionsOf(numbers, one, to), order: [] }
      : {
          size: one.size,
          numbers: rotationsOf(numbers, one, to),
          order: one.butterfly === null ? [] : (butterflyOrder(columns, one.size, one.butterfly) ?? []),
        };
  const result = program.turned(value, turned);
  return dtype === 'F32' ? result : program.linear([result], [1], dtype);
};
