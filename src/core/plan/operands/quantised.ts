import * as z from 'zod';
import { pick } from '../../base/errors/lookup.js';
import { bitsOf, type Dtype } from '../../tensor/dtype.js';
import {
  bitsOfCode,
  bytesOfCodes,
  codeKinds,
  codeOrders,
  factorKinds,
  gridOf,
  inputFeatures,
  type QuantisationLayout,
  type QuantisationTensors,
  type QuantisedBlocks,
} from '../../tensor/quantisation-layout.js';
import type { TensorReference } from '../../tensor/reference.js';
import { operandKind, type StoredTensor, storedTensor } from '../../tensor/stored-tensor.js';
import { parseBy } from '../parse.js';
import type { OperandKind } from './kind.js';
import { keyOfStored, parseSource } from './stored.js';

/** A quantised tensor as float32: each code times its block's scale (docs/quantised.md). */
export interface QuantisedTensor extends QuantisedBlocks, QuantisationTensors<StoredTensor> {
  readonly [operandKind]: 'quantised';
  readonly dtype: 'F32';
  readonly of: StoredTensor;
}

const make = (tensor: Omit<QuantisedTensor, typeof operandKind | 'dtype'>): QuantisedTensor => ({
  [operandKind]: 'quantised',
  dtype: 'F32',
  ...pick(tensor, 'codes', 'order', 'rows', 'width', 'stride', 'block', 'transposed', 'of'),
  ...pick(tensor, 'scales', 'factor', 'zeros', 'groups', 'nested', 'after'),
});

export const quantisedTensor = (
  input: number,
  { file, begin, end }: TensorReference,
  { factor, zeros, groups, nested, ...form }: QuantisationLayout<TensorReference>,
): QuantisedTensor => {
  const stored = (reference: TensorReference) => storedTensor(input, reference);
  const bytes = (reference: Pick<TensorReference, 'file' | 'begin' | 'end'>) =>
    storedTensor(input, { ...reference, dtype: 'U8' });
  return make({
    ...form,
    of: bytes({ file, begin, end }),
    scales: stored(form.scales),
    factor: factor && { kind: factor.kind, of: stored(factor.of) },
    zeros: zeros && { ...zeros, of: bytes(zeros.of) },
    groups: groups && bytes(groups),
    nested: nested && { ...nested, numbers: stored(nested.numbers), scales: stored(nested.scales) },
  });
};

const size = z.int().positive();
const inRows = { codes: z.enum(codeKinds), order: z.enum(codeOrders).optional(), stride: size };
const number = z.number().refine((one) => Number.isFinite(one) && Math.fround(one) === one);

const schema = z.strictObject({
  dtype: z.literal('F32'),
  ...inRows,
  rows: size,
  width: size,
  block: z.tuple([size, size]),
  transposed: z.boolean(),
  of: z.unknown(),
  scales: z.unknown(),
  factor: z.strictObject({ kind: z.enum(factorKinds), of: z.unknown() }).optional(),
  zeros: z.strictObject({ ...inRows, oneMore: z.boolean(), of: z.unknown() }).optional(),
  groups: z.unknown().optional(),
  nested: z
    .strictObject({ block: size, offset: number, numbers: z.unknown(), scales: z.unknown() })
    .optional(),
  after: number.optional(),
});

const scaleDtypes: readonly Dtype[] = ['F32', 'BF16', 'F16', 'F8_E4M3', 'F8_E8M0', 'U8'];

const areExponents = ({ dtype }: StoredTensor): boolean => dtype === 'F8_E8M0' || dtype === 'U8';

const whyNoCodes = ({
  codes,
  order = 'across',
  rows,
  width,
  stride,
}: QuantisedBlocks): string | undefined => {
  const isHalf = bitsOfCode(codes) === 4;
  if (stride < width || rows < 1) return 'its rows are shorter than their elements';
  if (!isHalf && order !== 'across' && order !== 'down')
    return `codes of eight bits stand in no order ${order}`;
  if (order === 'down') return codes.startsWith('F8') ? 'words hold no codes of FP8' : undefined;
  if (isHalf && stride % (order === 'interleaved' ? 8 : 2) !== 0)
    return 'a row of four-bit elements fills no whole bytes';
  return undefined;
};

export const quantised: OperandKind<QuantisedTensor> = {
  key: 'codes',
  parse: (value, context) => {
    const { target, refuse } = context;
    const { of, scales, factor, zeros, groups, nested, dtype: _, ...blocks } = parseBy(schema, value, refuse);
    const { rows, width, transposed } = blocks;
    const matrices = target.elements / (rows * width);
    if (!Number.isInteger(matrices))
      return refuse(`its matrices of ${rows} × ${width} do not make ${target.elements} elements`);
    if (transposed && target.shape.at(-1) !== rows)
      return refuse('its transposed matrices have other rows than the tensor');
    const sourceOf = (given: unknown, what: string, dtypes: readonly Dtype[], elements: number) => {
      const source = parseSource(given, context);
      if (!dtypes.includes(source.dtype)) return refuse(`its ${what} are of ${source.dtype}`);
      if ((source.end - source.begin) * 8 !== elements * bitsOf(source.dtype))
        return refuse(`its ${what} have another length`);
      return source;
    };
    const codesOf = (given: unknown, what: string, like: QuantisedBlocks) => {
      const why = whyNoCodes(like);
      return why === undefined
        ? sourceOf(given, what, ['U8'], bytesOfCodes(like, matrices))
        : refuse(`of its ${what}, ${why}`);
    };
    const [gridRows, gridColumns] = gridOf(blocks);
    const scaleCount = matrices * gridRows * gridColumns;
    if (zeros?.oneMore && zeros.codes !== 'U8' && zeros.codes !== 'U4')
      return refuse(`its zero points of ${zeros.codes} have no next number`);
    return make({
      ...blocks,
      of: codesOf(of, 'codes', blocks),
      scales: sourceOf(scales, 'scales', nested === undefined ? scaleDtypes : ['U8'], scaleCount),
      factor: factor && { kind: factor.kind, of: sourceOf(factor.of, 'factor', ['F32'], 1) },
      zeros: zeros && {
        ...zeros,
        of: codesOf(zeros.of, 'zero points', {
          ...blocks,
          ...zeros,
          order: zeros.order,
          rows: gridRows,
          width: gridColumns,
        }),
      },
      groups:
        groups === undefined ? undefined : sourceOf(groups, 'groups', ['U8'], 4 * inputFeatures(blocks)),
      nested: nested && {
        ...nested,
        numbers: sourceOf(nested.numbers, 'numbers', ['F32'], 256),
        scales: sourceOf(nested.scales, 'nested scales', ['F32'], Math.ceil(scaleCount / nested.block)),
      },
    });
  },
  sources: ({ of, scales, factor, zeros, groups, nested }) => [
    of,
    scales,
    ...(factor === undefined ? [] : [factor.of]),
    ...(zeros === undefined ? [] : [zeros.of]),
    ...(groups === undefined ? [] : [groups]),
    ...(nested === undefined ? [] : [nested.numbers, nested.scales]),
  ],
  describe: ({ of }, nameOf) => nameOf(of),
  keyText: (tensor, identify) => {
    const { of, scales, factor, zeros, groups, nested, after } = tensor;
    const { codes, order, rows, width, stride, block, transposed } = tensor;
    const key = (stored: StoredTensor) => keyOfStored(stored, identify);
    const orderText = (one: QuantisedBlocks['order']) => (one === undefined ? '' : ` ${one}`);
    return [
      `{${codes}${orderText(order)} ${rows} ${width} ${stride} by ${block.join(' ')}${transposed ? ' transposed' : ''}`,
      ` of ${key(of)} times ${key(scales)}`,
      factor === undefined ? '' : ` ${factor.kind} ${key(factor.of)}`,
      zeros === undefined
        ? ''
        : ` less ${zeros.codes}${orderText(zeros.order)} ${zeros.stride}${zeros.oneMore ? ' plus 1' : ''} ${key(zeros.of)}`,
      groups === undefined ? '' : ` grouped ${key(groups)}`,
      nested === undefined
        ? ''
        : ` nested ${nested.block} ${key(nested.numbers)} ${key(nested.scales)} plus ${nested.offset}`,
      after === undefined ? '' : ` by ${after}`,
      '}',
    ].join('');
  },
  weights: ({ of }) => new Map([[of.input, 1]]),
  tensor: ({ of }) => of,
  lower: async (tensor, { program }) => {
    const { codes, order, rows, width, stride, block, transposed } = tensor;
    const { scales, factor, zeros, groups, nested, after } = tensor;
    const [gridRows, gridColumns] = gridOf(tensor);
    return program.dequantise(quantised.sources(tensor), {
      ...{ codes, order: order ?? 'across', rows, width, stride, transposed },
      scales: nested !== undefined ? 'nested' : areExponents(scales) ? 'exponents' : 'floats',
      factor: factor?.kind ?? 'none',
      blockRows: block[0],
      blockColumns: block[1],
      zeros:
        zeros === undefined
          ? null
          : {
              ...{ codes: zeros.codes, order: zeros.order ?? 'across', oneMore: zeros.oneMore },
              ...{ rows: gridRows, width: gridColumns, stride: zeros.stride },
            },
      groups: groups !== undefined,
      nested: nested === undefined ? null : { block: nested.block, offset: nested.offset },
      after: after ?? 1,
    });
  },
};
