import * as z from 'zod';
import { itemAt, pick } from '../../base/errors/lookup.js';
import { refuseRanges, rowWidth } from '../../methods/operations/rows/assemble.js';
import type { RowRun } from '../../models/tokenizer/vocabulary.js';
import { mostChosen } from '../../native/solve.js';
import { isFloating } from '../../tensor/dtype.js';
import { elementsIn, operandKind, type StoredTensor } from '../../tensor/stored-tensor.js';
import { count, parseBy } from '../parse.js';
import { runsSchema } from './gathered.js';
import type { OperandKind } from './kind.js';
import { keyOfStored, parseSource } from './stored.js';

/**
 * A float32 matrix with new rows for `tokens`, and 0 elsewhere. Orthogonal matching pursuit approximates each
 * token's donor row by at most `k` of the `shared` donor rows. The new row is the same sum of the source's
 * rows (docs/numbers.md).
 */
export interface PursuedTensor {
  readonly [operandKind]: 'pursued';
  readonly dtype: 'F32';
  readonly rows: number;
  readonly k: number;
  /** Runs [result row, donor row, count], ascending by result row without overlaps. */
  readonly tokens: readonly RowRun[];
  /** Runs [source row, donor row, count]. */
  readonly shared: readonly RowRun[];
  readonly source: StoredTensor;
  readonly donor: StoredTensor;
  readonly width: number;
}

export const pursuedTensor = (tensor: Omit<PursuedTensor, typeof operandKind | 'dtype'>): PursuedTensor => ({
  [operandKind]: 'pursued',
  dtype: 'F32',
  ...pick(tensor, 'rows', 'k', 'tokens', 'shared', 'source', 'donor', 'width'),
});

const schema = z.strictObject({
  dtype: z.literal('F32'),
  rows: count,
  k: z.int().positive().max(mostChosen),
  tokens: runsSchema,
  shared: runsSchema,
  source: z.unknown(),
  donor: z.unknown(),
  width: z.int().positive(),
});

const sharedRows = ({ shared }: PursuedTensor): number[] =>
  shared.flatMap(([own, , rows]) => Array.from({ length: rows }, (_, index) => own + index));

export const pursued: OperandKind<PursuedTensor> = {
  key: 'shared',
  parse: (value, context) => {
    const { target, refuse } = context;
    const { source: given, donor: from, ...how } = parseBy(schema, value, refuse);
    const { rows, tokens, shared, width } = how;
    if (target.shape.length !== 2 || target.elements === 0 || rows !== target.shape[0])
      return refuse('rows that are approximated are taken for a tensor that is no such matrix');
    const [source, donor] = [parseSource(given, context), parseSource(from, context)];
    const refuseRuns = (reason: string | undefined): undefined =>
      reason === undefined ? undefined : refuse(reason);
    const checkRows = (stored: StoredTensor, columns: number, runs: readonly RowRun[], place: 0 | 1) => {
      const stands = elementsIn(stored) / columns;
      if (!isFloating(stored.dtype) || !Number.isInteger(stands))
        return refuse(
          'its approximated rows come from a tensor that is not a floating-point matrix of their width',
        );
      if (!runs.every((run) => run[2] >= 1 && run[place] + run[2] <= stands))
        return refuse('its approximated rows lie outside their sources');
      return undefined;
    };
    refuseRuns(refuseRanges(tokens, rows));
    checkRows(source, target.elements / rows, shared, 0);
    checkRows(donor, width, shared, 1);
    checkRows(donor, width, tokens, 1);
    if (shared.length === 0 || tokens.length === 0) return refuse('no rows are approximated');
    return pursuedTensor({ ...how, source, donor });
  },
  sources: ({ source, donor }) => [source, donor],
  describe: ({ source, donor, k }, nameOf) => `sums of ${k} of ${nameOf(source)}, as in ${nameOf(donor)}`,
  keyText: ({ rows, k, tokens, shared, source, donor, width }, identify) =>
    `{${rows} rows, ${tokens.map((run) => run.join(' ')).join(',')} pursued by ${k} of ${shared.map((run) => run.join(' ')).join(',')} of ${keyOfStored(source, identify)} in ${keyOfStored(donor, identify)} by ${width}}`,
  weights: ({ source }) => new Map([[source.input, 1]]),
  lower: async (operand, { program, measurer }) => {
    const { rows, k, tokens, shared, source, donor, width } = operand;
    const found = await measurer.pursue({ matrix: donor, width, targets: tokens, atoms: shared, k });
    const own = sharedRows(operand);
    const starts = new Float64Array(rows + 1);
    const terms = new Float64Array(2 * found.reduce((total, { atoms }) => total + atoms.length, 0));
    let [target, term, row] = [0, 0, 0];
    for (const [to, , length] of tokens) {
      while (row < to) starts[++row] = term;
      for (const end = row + length; row < end; ) {
        const { atoms, coefficients } = itemAt(found, target++);
        for (const [index, atom] of atoms.entries()) {
          terms.set([itemAt(own, atom), itemAt(coefficients, index)], 2 * term);
          term += 1;
        }
        starts[++row] = term;
      }
    }
    starts.fill(term, row + 1);
    return program.combineRows(source, rowWidth(program.shape), { starts, terms });
  },
  statistics: ({ donor }) => [{ what: 'matching pursuit', sources: [donor] }],
};
