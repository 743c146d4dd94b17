import * as z from 'zod';
import { itemAt } from '../../base/errors/lookup.js';
import { sharedList } from '../../methods/operations/program/shared-list.js';
import { commonWidth } from '../../methods/operations/rows/concatenate.js';
import { bitsOf, type Dtype } from '../../tensor/dtype.js';
import { operandKind, type StoredTensor } from '../../tensor/stored-tensor.js';
import { count, dtype, parseBy } from '../parse.js';
import type { OperandKind } from './kind.js';
import { keyOfStored, parseSource, readAs } from './stored.js';

/** A stored matrix in columns [first, first + count) of a wider matrix that is otherwise 0. */
export interface ColumnTensor {
  readonly [operandKind]: 'columns';
  readonly dtype: Dtype;
  readonly columns: number;
  readonly first: number;
  readonly count: number;
  readonly source: StoredTensor;
}

export const columnTensor = (
  { columns, first, count }: Pick<ColumnTensor, 'columns' | 'first' | 'count'>,
  source: StoredTensor,
): ColumnTensor => ({ [operandKind]: 'columns', dtype: source.dtype, columns, first, count, source });

const schema = z.strictObject({
  dtype,
  columns: count,
  first: count,
  count: count.positive(),
  source: z.unknown(),
});

export const columns: OperandKind<ColumnTensor> = {
  key: 'columns',
  parse: (value, context) => {
    const { target, refuse } = context;
    const { source: given, ...operand } = parseBy(schema, value, refuse);
    const { dtype, columns, first, count } = operand;
    const [rows, wide] = target.shape;
    if (target.shape.length !== 2 || wide !== columns || first + count > columns)
      return refuse('its columns are not among those that it has');
    const source = parseSource(given, context);
    if (source.dtype !== dtype || bitsOf(dtype) % 8 !== 0)
      return refuse(`columns of ${source.dtype} are taken for ${dtype}`);
    if ((source.end - source.begin) * 8 !== Number(rows) * count * bitsOf(dtype))
      return refuse('its columns have another length than their source');
    return columnTensor(operand, source);
  },
  sources: ({ source }) => [source],
  describe: ({ source }, nameOf) => nameOf(source),
  keyText: ({ columns, first, count, source }, identify) =>
    `[columns ${first} ${count} of ${columns} of ${keyOfStored(source, identify)}]`,
  weights: ({ source }) => new Map([[source.input, 1]]),
  lower: async ({ columns, first, count, source }, { program }, asBits) => {
    const width = commonWidth([columns, first, count]);
    const rows = itemAt(program.shape, 0);
    const runs = sharedList(`${rows} rows of ${columns}, ${count} from ${first}`, () => {
      const numbers = new Float64Array(3 * rows);
      for (let row = 0; row < rows; row += 1)
        numbers.set([(row * columns + first) / width, (row * count) / width, count / width], 3 * row);
      return numbers;
    });
    return program.gather(readAs(source, asBits), width, runs);
  },
  keepsBits: true,
};
