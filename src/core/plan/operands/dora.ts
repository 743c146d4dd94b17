import * as z from 'zod';
import { itemAt, pick } from '../../base/errors/lookup.js';
import { undefinedMerge } from '../../methods/operations/program/lowering.js';
import { Program } from '../../methods/operations/program/program.js';
import { type ArithmeticDtype, bitsOf, isFloating } from '../../tensor/dtype.js';
import { elementsIn, operandKind, type StoredTensor } from '../../tensor/stored-tensor.js';
import { dtype, parseBy } from '../parse.js';
import type { OperandKind } from './kind.js';
import { type LowRankTensor, lowRank } from './low-rank.js';
import { keyOfStored, parseSource, stored } from './stored.js';

/**
 * A model's matrix with a DoRA adapter: m·V/‖V‖ with V = `tensor` + `scale`·`product`. Magnitudes m and
 * norms are by row, or by column if the product is transposed because the matrix is stored as [in, out]. V is
 * float32, norms are float64 (docs/numbers.md). The result is rounded to `dtype` once.
 */
export interface DoraTensor {
  readonly [operandKind]: 'dora';
  readonly dtype: ArithmeticDtype;
  readonly tensor: StoredTensor;
  readonly product: LowRankTensor;
  readonly scale: number;
  readonly magnitudes: StoredTensor;
}

export const doraTensor = (tensor: Omit<DoraTensor, typeof operandKind>): DoraTensor => ({
  [operandKind]: 'dora',
  ...pick(tensor, 'dtype', 'tensor', 'product', 'scale', 'magnitudes'),
});

const schema = z.strictObject({
  dtype,
  tensor: z.unknown(),
  product: z.unknown(),
  scale: z.number(),
  magnitudes: z.unknown(),
});

export const dora: OperandKind<DoraTensor> = {
  key: 'magnitudes',
  parse: (value, context) => {
    const { target, refuse } = context;
    const { dtype, scale, ...given } = parseBy(schema, value, refuse);
    const tensor = stored.parse(given.tensor, context);
    const product = lowRank.parse(given.product, context);
    const magnitudes = parseSource(given.magnitudes, context);
    if (!isFloating(dtype) || ![tensor, magnitudes].every((source) => isFloating(source.dtype)))
      return refuse('a matrix with an adapter is of a dtype that is no floating-point one');
    const outputs = itemAt(target.shape, product.transposed ? 1 : 0);
    if ((magnitudes.end - magnitudes.begin) * 8 !== outputs * bitsOf(magnitudes.dtype))
      return refuse(`its magnitudes are not as many as its outputs, ${outputs}`);
    return doraTensor({ dtype, tensor, product, scale, magnitudes });
  },
  sources: ({ tensor, product, magnitudes }) => [tensor, product.a, product.b, magnitudes],
  factors: ({ product, magnitudes }) => [product.a, product.b, magnitudes],
  statistics: ({ tensor, product, magnitudes }) => [
    { what: 'norms of rows', sources: [tensor, product.a, product.b, magnitudes] },
  ],
  tensor: ({ tensor }) => tensor,
  describe: ({ tensor }, nameOf) => nameOf(tensor),
  keyText: ({ dtype, tensor, product, scale, magnitudes }, identify) => {
    const keyOf = (source: StoredTensor) => keyOfStored(source, identify);
    return `{${dtype} norms ${keyOf(magnitudes)} of ${keyOf(tensor)} and ${scale} ${lowRank.keyText(product, identify)}}`;
  },
  weights: ({ tensor }) => new Map([[tensor.input, 1]]),
  lower: async ({ dtype, tensor, product, scale, magnitudes }, to) => {
    const { program, measurer } = to;
    const { transposed } = product;
    const change = await lowRank.lower(product, to, false);
    const adapted = program.linear([program.source(tensor), change], [1, scale]);
    const squares = await measurer[transposed ? 'columnGram' : 'rowGram'](program, [adapted]);
    // Column sums over a single row are the magnitudes.
    const row = new Program([1, elementsIn(magnitudes)]);
    const wanted = await measurer.columnSums(row, row.source(magnitudes));
    const weights = [...wanted].map((magnitude, output) => {
      const norm = Math.sqrt(itemAt(squares, output));
      if (norm > 0) return magnitude / norm;
      const reason = `output ${output} of the base with the adapter is 0, and cannot be scaled to a norm`;
      throw undefinedMerge(to.tensor, 'DoRA', reason);
    });
    const rows = transposed ? 'input' : 'output';
    const value = program.rowLinear({ values: [adapted], rows, weights, dtype });
    program.markResult(value);
    return value;
  },
  needsRows: true,
};
