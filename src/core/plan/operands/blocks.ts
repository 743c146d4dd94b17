import * as z from 'zod';
import { type BlockLayout, blockTypes, bytesOfRow } from '../../tensor/block-layout.js';
import type { TensorReference } from '../../tensor/reference.js';
import { operandKind, type StoredTensor, storedTensor } from '../../tensor/stored-tensor.js';
import { parseBy } from '../parse.js';
import type { OperandKind } from './kind.js';
import { keyOfStored, parseSource } from './stored.js';

/** A tensor in GGUF's blocks, or with rows in GGUF's order; values are float32 (docs/gguf.md). */
export interface BlockTensor {
  readonly [operandKind]: 'blocks';
  readonly dtype: 'F32';
  readonly blocks: BlockLayout;
  readonly of: StoredTensor;
}

const make = ({ type, width, head, plus }: BlockLayout, of: StoredTensor): BlockTensor => ({
  [operandKind]: 'blocks',
  dtype: 'F32',
  blocks: { type, width, head, plus },
  of,
});

export const blockTensor = (
  input: number,
  { file, begin, end }: TensorReference,
  blocks: BlockLayout,
): BlockTensor => make(blocks, storedTensor(input, { file, begin, end, dtype: 'U8' }));

const schema = z.strictObject({
  dtype: z.literal('F32'),
  blocks: z.strictObject({
    type: z.enum(blockTypes),
    width: z.int().positive(),
    head: z
      .int()
      .nonnegative()
      .refine((rows) => rows % 2 === 0),
    plus: z.number().refine((one) => Number.isFinite(one) && Math.fround(one) === one),
  }),
  of: z.unknown(),
});

export const blocks: OperandKind<BlockTensor> = {
  key: 'blocks',
  parse: (value, context) => {
    const { target, refuse } = context;
    const { blocks: form, of: given } = parseBy(schema, value, refuse);
    const { type, width, head } = form;
    const rows = target.elements / width;
    if (!Number.isInteger(rows) || rows === 0)
      return refuse(`its rows of ${width} do not make ${target.elements} elements`);
    if (head !== 0 && rows % head !== 0) return refuse(`its ${rows} rows are not of whole heads of ${head}`);
    const bytes = bytesOfRow(type, width);
    if (bytes === undefined) return refuse(`its rows of ${width} fill no blocks of ${type}`);
    const of = parseSource(given, context);
    if (of.dtype !== 'U8') return refuse(`its blocks are of ${of.dtype}`);
    if (of.end - of.begin !== rows * bytes) return refuse('its blocks have another length');
    return make(form, of);
  },
  sources: ({ of }) => [of],
  describe: ({ of }, nameOf) => nameOf(of),
  keyText: ({ blocks: { type, width, head, plus }, of }, identify) =>
    `{${type} ${width} head ${head} plus ${plus} of ${keyOfStored(of, identify)}}`,
  weights: ({ of }) => new Map([[of.input, 1]]),
  tensor: ({ of }) => of,
  lower: async ({ blocks: form, of }, { program }) => program.unpack(of, form),
};
