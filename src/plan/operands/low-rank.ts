import * as z from 'zod';
import { bitsOf, isFloating } from '../../tensor/dtype.js';
import { operandKind, type StoredTensor } from '../../tensor/stored-tensor.js';
import { parseBy } from '../parse.js';
import type { OperandKind } from './kind.js';
import { keyOfStored, parseSource } from './stored.js';

/**
 * The product B · A of a LoRA adapter, unscaled and in float32, or its transpose: `a` is [rank, in], `b` [out, rank], the
 * product [out, in]. Sums over the rank are taken in one fixed order (docs/numbers.md).
 */
export interface LowRankTensor {
  readonly [operandKind]: 'lowRank';
  readonly dtype: 'F32';
  readonly rank: number;
  readonly transposed: boolean;
  readonly a: StoredTensor;
  readonly b: StoredTensor;
}

export const lowRankTensor = ({
  rank,
  transposed,
  a,
  b,
}: Pick<LowRankTensor, 'rank' | 'transposed' | 'a' | 'b'>): LowRankTensor => ({
  [operandKind]: 'lowRank',
  dtype: 'F32',
  rank,
  transposed,
  a,
  b,
});

const schema = z.strictObject({
  dtype: z.literal('F32'),
  rank: z.int().positive(),
  transposed: z.boolean(),
  a: z.unknown(),
  b: z.unknown(),
});

export const lowRank: OperandKind<LowRankTensor> = {
  key: 'rank',
  parse: (value, context) => {
    const { target, refuse } = context;
    const { a, b, ...product } = parseBy(schema, value, refuse);
    const [rows, columns, more] = target.shape;
    if (rows === undefined || columns === undefined || more !== undefined)
      return refuse('a product of two matrices is taken for a tensor that is none');
    const [inputs, outputs] = product.transposed ? [rows, columns] : [columns, rows];
    const parseFactor = (factor: unknown, width: number): StoredTensor => {
      const source = parseSource(factor, context);
      if (!isFloating(source.dtype))
        return refuse(`a product is of ${source.dtype}, which is no floating-point dtype`);
      if ((source.end - source.begin) * 8 !== product.rank * width * bitsOf(source.dtype))
        return refuse(`a factor of rank ${product.rank} has another length than ${width} times that`);
      return source;
    };
    return lowRankTensor({ ...product, a: parseFactor(a, inputs), b: parseFactor(b, outputs) });
  },
  sources: ({ a, b }) => [a, b],
  describe: ({ a }, nameOf) => nameOf(a),
  keyText: ({ rank, transposed, a, b }, identify) =>
    `{${transposed ? 'transposed ' : ''}product of rank ${rank}, ${keyOfStored(b, identify)} by ${keyOfStored(a, identify)}}`,
  // A change of a model's tensor, which has the model's weight.
  weights: () => new Map(),
  lower: async ({ rank, transposed, a, b }, { program }) => program.product(a, b, { rank, transposed }),
  needsRows: true,
  factors: ({ a, b }) => [a, b],
  rank: ({ rank }) => rank,
};
