import * as z from 'zod';
import { isCount } from '../../base/is-count.js';
import { refuseRanges, rowWidth } from '../../methods/operations/rows/assemble.js';
import type { RowRun } from '../../models/tokenizer/vocabulary.js';
import { bitsOf, type Dtype } from '../../tensor/dtype.js';
import { operandKind, type StoredTensor } from '../../tensor/stored-tensor.js';
import { count, dtype, parseBy } from '../parse.js';
import type { OperandKind } from './kind.js';
import { keyOfStored, parseSource, readAs } from './stored.js';

/** Stored rows in another order: run [to, from, count] copies `count` rows. Other rows are 0. */
export interface GatheredTensor {
  readonly [operandKind]: 'gathered';
  readonly dtype: Dtype;
  readonly rows: number;
  /** Runs ascending by `to`, without overlaps. */
  readonly runs: readonly RowRun[];
  /** Byte range of the used rows; each `from` counts rows from its start. */
  readonly source: StoredTensor;
}

export const gatheredTensor = (
  rows: number,
  runs: readonly RowRun[],
  source: StoredTensor,
): GatheredTensor => ({ [operandKind]: 'gathered', dtype: source.dtype, rows, runs, source });

const isRun = (value: unknown): value is RowRun =>
  Array.isArray(value) && value.length === 3 && value.every(isCount);

/** Checks without zod for speed, because a reordered vocabulary may have a run per token. */
export const runsSchema = z
  .custom<readonly RowRun[]>((value) => Array.isArray(value) && value.every(isRun), {
    error: 'no runs of rows',
  })
  .transform((runs) => runs.map(([to, from, rows]): RowRun => [to, from, rows]));

const schema = z.strictObject({ dtype, rows: count, runs: runsSchema, source: z.unknown() });

export const gathered: OperandKind<GatheredTensor> = {
  key: 'runs',
  parse: (value, context) => {
    const { target, refuse } = context;
    const { dtype, rows, runs, source: given } = parseBy(schema, value, refuse);
    if (target.elements === 0 || rows !== target.shape[0])
      return refuse('its rows in another order are not as many as it has');
    const rowBits = (target.elements / rows) * bitsOf(dtype);
    const source = parseSource(given, context);
    if (source.dtype !== dtype || bitsOf(dtype) % 8 !== 0)
      return refuse(`rows of ${source.dtype} are taken for ${dtype}`);
    const stored = ((source.end - source.begin) * 8) / rowBits;
    const reason = refuseRanges(runs, rows);
    if (reason !== undefined) return refuse(reason);
    if (!(Number.isInteger(stored) && stored >= 0) || !runs.every(([, from, rows]) => from + rows <= stored))
      return refuse('its rows in another order lie outside their source');
    return gatheredTensor(rows, runs, source);
  },
  sources: ({ source }) => [source],
  describe: ({ source }, nameOf) => nameOf(source),
  keyText: ({ rows, runs, source }, identify) =>
    `[${rows} rows ${runs.map((run) => run.join(' ')).join(',')} of ${keyOfStored(source, identify)}]`,
  weights: ({ source }) => new Map([[source.input, 1]]),
  lower: async ({ runs, source }, { program }, asBits) =>
    program.gather(readAs(source, asBits), rowWidth(program.shape), runs),
  move: (source) => ({ kind: 'assemble', parts: [{ source, rows: [[0, source.rows]] }] }),
  keepsBits: true,
  movesRows: true,
};
