import * as z from 'zod';
import { isCount } from '../../base/is-count.js';
import { Program } from '../../methods/operations/program/program.js';
import { rowWidth } from '../../methods/operations/rows/assemble.js';
import { isFloating } from '../../tensor/dtype.js';
import { elementsIn, operandKind, type StoredTensor } from '../../tensor/stored-tensor.js';
import { count, parseBy } from '../parse.js';
import type { OperandKind } from './kind.js';
import { keyOfStored, parseSource } from './stored.js';

/** An output row, followed by the source rows that it averages; source rows may repeat. */
export type RowMean = readonly [to: number, ...of: readonly number[]];

/** A float32 matrix of row means: 0 without one in `means`; `'all'` sets each to the mean of all rows. */
export interface AveragedTensor {
  readonly [operandKind]: 'averaged';
  readonly dtype: 'F32';
  readonly rows: number;
  /** Means, ascending by output row. */
  readonly means: 'all' | readonly RowMean[];
  readonly source: StoredTensor;
}

export const averagedTensor = (
  rows: number,
  means: AveragedTensor['means'],
  source: StoredTensor,
): AveragedTensor => ({ [operandKind]: 'averaged', dtype: 'F32', rows, means, source });

const isMean = (value: unknown): value is RowMean =>
  Array.isArray(value) && value.length >= 2 && value.every(isCount);

const schema = z.strictObject({
  dtype: z.literal('F32'),
  rows: count,
  // Checks without zod for speed, because there may be a mean per token.
  means: z.union([
    z.literal('all'),
    z
      .custom<readonly RowMean[]>((value) => Array.isArray(value) && value.every(isMean), {
        error: 'no means of rows',
      })
      .transform((means) => means.map((mean): RowMean => [...mean])),
  ]),
  source: z.unknown(),
});

export const averaged: OperandKind<AveragedTensor> = {
  key: 'means',
  parse: (value, context) => {
    const { target, refuse } = context;
    const { rows, means, source: given } = parseBy(schema, value, refuse);
    if (target.shape.length !== 2 || target.elements === 0 || rows !== target.shape[0])
      return refuse('means of rows are taken for a tensor that is no such matrix');
    const source = parseSource(given, context);
    const stored = elementsIn(source) / (target.elements / rows);
    if (!isFloating(source.dtype) || !Number.isInteger(stored) || stored === 0)
      return refuse('means are taken of a tensor that is no matrix of their width');
    if (means !== 'all') {
      let next = 0;
      for (const [to, ...of] of means) {
        if (to < next || to >= rows || of.some((row) => row >= stored))
          return refuse('its means of rows are not ascending and within its shape and their source');
        next = to + 1;
      }
    }
    return averagedTensor(rows, means, source);
  },
  sources: ({ source }) => [source],
  describe: ({ source }, nameOf) => `means of ${nameOf(source)}`,
  keyText: ({ rows, means, source }, identify) =>
    `{${rows} rows, means ${means === 'all' ? means : means.map((mean) => mean.join(' ')).join(',')} of ${keyOfStored(source, identify)}}`,
  weights: ({ source }) => new Map([[source.input, 1]]),
  lower: async ({ rows, means, source }, { program, measurer }) => {
    const width = rowWidth(program.shape);
    if (means === 'all') {
      const count = elementsIn(source) / width;
      const all = new Program([count, width]);
      const sums = await measurer.columnSums(all, all.source(source));
      const value = program.linear([program.gather(source, width, [[0, 0, 1]])], [1]);
      return program.fillRows({ value, from: 0, values: sums.map((sum) => sum / count), dtype: 'F32' });
    }
    const starts = [0];
    const terms: number[] = [];
    for (const [to, ...of] of means) {
      while (starts.length <= to) starts.push(terms.length / 2);
      for (const row of of) terms.push(row, 1 / of.length);
      starts.push(terms.length / 2);
    }
    while (starts.length <= rows) starts.push(terms.length / 2);
    return program.combineRows(source, width, { starts, terms });
  },
  statistics: ({ means, source }) =>
    means === 'all' ? [{ what: 'means of columns', sources: [source] }] : [],
};
