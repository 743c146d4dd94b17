import * as z from 'zod';
import { bitsOf } from '../../tensor/dtype.js';
import {
  bitsOfCode,
  codeKinds,
  type FactorKind,
  factorKinds,
  gridOf,
  type QuantisedBlocks,
  type QuantisedForm,
} from '../../tensor/quantised-form.js';
import type { TensorReference } from '../../tensor/reference.js';
import { operandKind, type StoredTensor, storedTensor } from '../../tensor/stored-tensor.js';
import { parseBy } from '../parse.js';
import type { OperandKind } from './kind.js';
import { keyOfStored, parseSource } from './stored.js';

/** A quantised tensor as float32: the number of each code times the scale of its block (docs/quantised.md). */
export interface QuantisedTensor extends QuantisedBlocks {
  readonly [operandKind]: 'quantised';
  readonly dtype: 'F32';
  /** What `codes` are read from: bytes. */
  readonly of: StoredTensor;
  readonly scales: StoredTensor;
  readonly factor?: { readonly kind: FactorKind; readonly of: StoredTensor };
}

type Parts = Pick<QuantisedTensor, 'of' | 'scales' | 'factor'>;

const make = (
  { codes, rows, width, stride, block, transposed }: QuantisedBlocks,
  { of, scales, factor }: Parts,
): QuantisedTensor => ({
  [operandKind]: 'quantised',
  dtype: 'F32',
  codes,
  rows,
  width,
  stride,
  block,
  transposed,
  of,
  scales,
  ...(factor === undefined ? {} : { factor }),
});

/** Returns a quantised tensor of an input as an operand. */
export const quantisedTensor = (
  input: number,
  { file, begin, end }: TensorReference,
  form: QuantisedForm<TensorReference>,
): QuantisedTensor => {
  const { factor } = form;
  return make(form, {
    of: storedTensor(input, { file, begin, end, dtype: 'U8' }),
    scales: storedTensor(input, form.scales),
    ...(factor === undefined ? {} : { factor: { kind: factor.kind, of: storedTensor(input, factor.of) } }),
  });
};

const size = z.int().positive();

const schema = z.strictObject({
  dtype: z.literal('F32'),
  codes: z.enum(codeKinds),
  rows: size,
  width: size,
  stride: size,
  block: z.tuple([size, size]),
  transposed: z.boolean(),
  of: z.unknown(),
  scales: z.unknown(),
  factor: z.strictObject({ kind: z.enum(factorKinds), of: z.unknown() }).optional(),
});

const scaleDtypes: readonly string[] = ['F32', 'BF16', 'F16', 'F8_E4M3', 'F8_E8M0', 'U8'];

/** Bytes that stand for powers of two. */
const areExponents = ({ dtype }: StoredTensor): boolean => dtype === 'F8_E8M0' || dtype === 'U8';

export const quantised: OperandKind<QuantisedTensor> = {
  key: 'codes',
  parse: (value, context) => {
    const { target, refuse } = context;
    const { of: codesGiven, scales: scalesGiven, factor, ...blocks } = parseBy(schema, value, refuse);
    const { rows, width, stride, codes, transposed } = blocks;
    const matrices = target.elements / (rows * width);
    if (!Number.isInteger(matrices) || stride < width)
      return refuse(`its matrices of ${rows} × ${width} do not make ${target.elements} elements`);
    const isHalf = bitsOfCode(codes) === 4;
    if (isHalf && stride % 2 !== 0) return refuse('a row of four-bit elements fills no whole bytes');
    if (transposed && target.shape.at(-1) !== rows)
      return refuse('its transposed matrices have other rows than the tensor');
    const sourceOf = (given: unknown, bits: number, what: string): StoredTensor => {
      const source = parseSource(given, context);
      if ((source.end - source.begin) * 8 !== bits) return refuse(`its ${what} have another length`);
      return source;
    };
    const of = sourceOf(codesGiven, matrices * rows * stride * bitsOfCode(codes), 'codes');
    if (of.dtype !== 'U8') return refuse(`codes of ${of.dtype} are taken for bytes`);
    const [gridRows, gridColumns] = gridOf(blocks);
    const scales = parseSource(scalesGiven, context);
    if (!scaleDtypes.includes(scales.dtype)) return refuse(`scales are of ${scales.dtype}`);
    sourceOf(scalesGiven, matrices * gridRows * gridColumns * bitsOf(scales.dtype), 'scales');
    if (factor === undefined) return make(blocks, { of, scales });
    const factorOf = sourceOf(factor.of, 32, 'factor');
    if (factorOf.dtype !== 'F32') return refuse(`a factor is of ${factorOf.dtype}`);
    return make(blocks, { of, scales, factor: { kind: factor.kind, of: factorOf } });
  },
  sources: ({ of, scales, factor }) => [of, scales, ...(factor === undefined ? [] : [factor.of])],
  describe: ({ of }, nameOf) => nameOf(of),
  keyText: ({ of, scales, factor, codes, rows, width, stride, block, transposed }, identify) =>
    `{${codes} ${rows} ${width} ${stride} by ${block.join(' ')}${transposed ? ' transposed' : ''} of ${keyOfStored(of, identify)} times ${keyOfStored(scales, identify)}${factor === undefined ? '' : ` ${factor.kind} ${keyOfStored(factor.of, identify)}`}}`,
  weights: ({ of }) => new Map([[of.input, 1]]),
  tensor: ({ of }) => of,
  lower: async ({ of, scales, factor, ...blocks }, { program }) =>
    program.dequantise(
      { codes: of, scales, ...(factor === undefined ? {} : { factor: factor.of }) },
      {
        codes: blocks.codes,
        order: 'across',
        scales: areExponents(scales) ? 'exponents' : 'floats',
        factor: factor?.kind ?? 'none',
        rows: blocks.rows,
        width: blocks.width,
        stride: blocks.stride,
        blockRows: blocks.block[0],
        blockColumns: blocks.block[1],
        transposed: blocks.transposed,
        zeros: null,
        groups: false,
        nested: null,
        after: 1,
      },
    ),
};
