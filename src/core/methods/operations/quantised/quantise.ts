import * as z from 'zod';
import { itemAt } from '../../../base/errors/lookup.js';
import type { QuantisingScheme } from '../../../native/job.js';
import type { Dtype } from '../../../tensor/dtype.js';
import { gridOf } from '../../../tensor/quantisation-layout.js';
import type { Operation } from '../program/operation.js';
import type { Value } from '../program/program.js';
import { measureKept } from './kept-change.js';
import { quantisedValue } from './quantised-value.js';

const codeDtypes = { float8: 'F8_E4M3', int8: 'I8' } as const satisfies Partial<
  Record<QuantisingScheme, Dtype>
>;

export type WrittenScheme = keyof typeof codeDtypes;

export const codeDtypeOf = (scheme: WrittenScheme): Dtype => codeDtypes[scheme];

/** Codes, or a float32 scale per block; if both are in one shard, they are computed together. */
export interface Quantise<T> {
  readonly kind: 'quantise';
  readonly of: string;
  readonly part: 'codes' | 'scales';
  readonly scheme: WrittenScheme;
  readonly shape: readonly [number, number];
  readonly block: readonly [rows: number, columns: number];
  readonly source: T;
  /** The tensor before the change, only to measure how much of it survives. */
  readonly base?: T | undefined;
}

const extent = z.int().positive();
const pair = z.tuple([extent, extent]);

export const gridOfMatrix = ({
  shape: [rows, width],
  block,
}: Pick<Quantise<unknown>, 'shape' | 'block'>): readonly [rows: number, columns: number] =>
  gridOf({ rows, width, block });

export const quantise = {
  schema: z.strictObject({
    kind: z.literal('quantise'),
    of: z.string(),
    part: z.enum(['codes', 'scales']),
    scheme: z.enum(Object.keys(codeDtypes) as [WrittenScheme, ...WrittenScheme[]]),
    shape: pair,
    block: pair,
    source: z.unknown(),
    base: z.unknown().optional(),
  }),
  map: <T, U>({ source, base, ...formula }: Quantise<T>, to: (operand: T) => U): Quantise<U> => ({
    ...formula,
    source: to(source),
    ...(base === undefined ? {} : { base: to(base) }),
  }),
  statistics: <T>({ part, source, base }: Quantise<T>) =>
    base === undefined || part === 'scales'
      ? []
      : [{ what: 'change that is kept', operands: [source, base] }],
  operandShapes: ({ shape, base }) => (base === undefined ? [shape] : [shape, shape]),
  rowsTogether: ({ block, shape }) => Math.min(block[0], shape[0]),
  refusal: (formula, { shape, dtype }) => {
    const [wanted, of] =
      formula.part === 'codes' ? [formula.shape, codeDtypes[formula.scheme]] : [gridOfMatrix(formula), 'F32'];
    if (dtype !== of) return `${formula.part} of ${formula.scheme} are not written in ${dtype}`;
    return shape.length === 2 && shape.every((extent, index) => extent === itemAt(wanted, index))
      ? undefined
      : `it has not the shape of its matrix’s ${formula.part}`;
  },
  key: ({ part, scheme, shape, block, source }) =>
    `${part} of ${scheme} ${shape.join('×')} in ${block.join('×')} ${source}`,
  describe: ({ part, scheme, source }) => `${source} in ${scheme}${part === 'scales' ? ', scales' : ''}`,
  lower: async (formula, _dtype, to) => {
    const { part, source, base } = formula;
    if (base !== undefined && part === 'codes' && to.onKept !== undefined)
      to.onKept(await measureKept(source, base, formula, to));
    return await quantisedValue(source, formula, to, 'codes');
  },
} satisfies Operation<Quantise<unknown>, Quantise<string>, Quantise<Value>>;
