import * as z from 'zod';
import { takeRows } from '../../methods/operations/program/lowering.js';
import type { ExpertRows } from '../../models/adapters/kinds/kind.js';
import { isFloating } from '../../tensor/dtype.js';
import { elementsIn, operandKind, type StoredTensor } from '../../tensor/stored-tensor.js';
import { count, parseBy } from '../parse.js';
import type { OperandKind } from './kind.js';
import { keyOfStored, parseSource } from './stored.js';

/**
 * A LoRA adapter's unscaled product B·A in float32, or its transpose; `a` is [rank, in], `b` is [out,
 * rank]. Sums over the rank have a fixed order (docs/numbers.md). With `experts`, all experts' products are
 * stacked by rows.
 */
export interface LowRankTensor {
  readonly [operandKind]: 'lowRank';
  readonly dtype: 'F32';
  readonly rank: number;
  readonly transposed: boolean;
  readonly experts?: ExpertRows;
  readonly a: StoredTensor;
  readonly b: StoredTensor;
}

export const lowRankTensor = ({
  rank,
  transposed,
  experts,
  a,
  b,
}: Omit<LowRankTensor, typeof operandKind | 'dtype' | 'experts'> & {
  readonly experts?: ExpertRows | undefined;
}): LowRankTensor => ({
  [operandKind]: 'lowRank',
  dtype: 'F32',
  rank,
  transposed,
  ...(experts === undefined ? {} : { experts }),
  a,
  b,
});

const schema = z.strictObject({
  dtype: z.literal('F32'),
  rank: z.int().positive(),
  transposed: z.boolean(),
  experts: z
    .strictObject({ count: z.int().positive(), row: count, grouped: z.literal(true).exactOptional() })
    .exactOptional(),
  a: z.unknown(),
  b: z.unknown(),
});

export const lowRank: OperandKind<LowRankTensor> = {
  key: 'rank',
  parse: (value, context) => {
    const { target, refuse } = context;
    const { a: givenA, b: givenB, ...product } = parseBy(schema, value, refuse);
    const columns = target.shape.at(-1);
    const { count: experts, row } = product.experts ?? { count: 1, row: 0 };
    if (columns === undefined || target.shape.length < 2 || columns === 0)
      return refuse('a product of two matrices stands for a tensor that is not a matrix');
    const rows = target.elements / columns;
    const ranks = product.rank * experts;
    const parseFactor = (factor: unknown): StoredTensor => {
      const source = parseSource(factor, context);
      if (!isFloating(source.dtype))
        return refuse(`a product is of ${source.dtype}, which is no floating-point dtype`);
      return source;
    };
    const checkFactor = (source: StoredTensor, width: number): void => {
      if (elementsIn(source) !== ranks * width)
        refuse(`a factor of rank ${product.rank} has another length than ${width} times that`);
    };
    const [a, b] = [parseFactor(givenA), parseFactor(givenB)];
    const [ofRows, ofColumns] = product.transposed ? [a, b] : [b, a];
    checkFactor(ofColumns, columns);
    const inMatrix = product.experts === undefined ? rows : elementsIn(ofRows) / ranks;
    checkFactor(ofRows, inMatrix);
    if (!Number.isSafeInteger(inMatrix) || row + rows > inMatrix * experts)
      return refuse('its rows lie outside the products of its experts');
    return lowRankTensor({ ...product, a, b });
  },
  sources: ({ a, b }) => [a, b],
  describe: ({ a }, nameOf) => nameOf(a),
  keyText: ({ rank, transposed, experts, a, b }, identify) =>
    `{${transposed ? 'transposed ' : ''}product of rank ${rank}${experts === undefined ? '' : ` of ${experts.count} experts${experts.grouped ? ' one by one' : ''} from row ${experts.row}`}, ${keyOfStored(b, identify)} by ${keyOfStored(a, identify)}}`,
  // Adds no weights, because only the changed tensor counts.
  weights: () => new Map(),
  lower: async (
    { rank, transposed, experts: { count, row, grouped = false } = { count: 1, row: 0 }, a, b },
    to,
  ) => {
    takeRows(to, 'last', 'an adapter of experts');
    return to.program.product(a, b, { rank, transposed, experts: count, row, grouped });
  },
  needsRows: true,
  factors: ({ a, b }) => [a, b],
  rank: ({ rank }) => rank,
};
