import { LayerloomError } from '../base/errors/errors.js';
import { itemAt } from '../base/errors/lookup.js';
import type { RowRange } from '../methods/operations/rows/assemble.js';
import type { MergedVocabulary, ModelRows, RowRun } from '../models/tokenizer/vocabulary.js';
import { bitsOf, isFloating } from '../tensor/dtype.js';
import type { Shape } from '../tensor/reference.js';
import { computedTensor } from './operands/computed.js';
import { gatheredTensor } from './operands/gathered.js';
import { inDtype } from './operands.js';
import type { Operand, PlannedExpression, StoredTensor } from './plan.js';

export interface VocabularyTensor {
  readonly name: string;
  readonly path: string;
  readonly shape: Shape;
  readonly stored: StoredTensor;
}

export const isUnmoved = (
  { own, fills }: ModelRows,
  { rows, padFrom }: MergedVocabulary,
  before: number,
): boolean => {
  const [[to, from, count] = [-1, -1, -1], ...more] = own;
  const isWhole = to === 0 && from === 0 && count === rows && more.length + fills.length === 0;
  return isWhole && before === rows && padFrom === rows;
};

/**
 * Moves a model's rows to the output's tokens. A missing token's row is another model's, or a mean of several
 * models'.
 *
 * @param like the model's own tensor, which gives the dtype
 * @param tensorOf another model's tensor of the same role
 * @throws VOCABULARY_UNMERGEABLE
 */
export const inVocabulary = (
  like: VocabularyTensor,
  { own, fills }: ModelRows,
  { rows, padFrom }: MergedVocabulary,
  tensorOf: (model: number) => VocabularyTensor,
): Operand => {
  const { dtype } = like.stored;
  const refuse = (reason: string, of = like): never => {
    throw new LayerloomError('VOCABULARY_UNMERGEABLE', { model: of.path, tensor: like.name, reason });
  };
  if (bitsOf(dtype) % 8 !== 0) refuse(`is ${dtype}, whose rows are no whole bytes`);
  const filled = fills.flatMap(({ rows: ranges, from }) => {
    const sources = from.map(({ model, runs }) => {
      const tensor = tensorOf(model);
      if (!isFloating(dtype) && tensor.stored.dtype !== dtype)
        refuse(`is ${tensor.stored.dtype} and ${dtype} in ${like.path}`, tensor);
      return gathered(tensor, runs, rows);
    });
    const [first, ...others] = sources;
    if (first === undefined) return [];
    if (others.length === 0) return [{ source: inDtype(first, dtype), rows: ranges }];
    if (!isFloating(dtype)) refuse(`is ${dtype}, so it has no mean`);
    const weight = 1 / sources.length;
    const mean: PlannedExpression = {
      kind: 'linear',
      terms: sources.map((source) => ({ source, weight })),
    };
    return [{ source: computedTensor(dtype, mean), rows: ranges }];
  });
  const ownRows = own.map(([to, , count]): RowRange => [to, count]);
  const kept = own.length === 0 ? undefined : gathered(like, own, rows);
  const parts = [...(kept === undefined ? [] : [{ source: kept, rows: ownRows }]), ...filled];
  if (parts.length === 0) return refuse('would have no row with a value');
  const assembled: Operand =
    kept !== undefined && filled.length === 0 ? kept : computedTensor(dtype, { kind: 'assemble', parts });
  if (padFrom === rows) return assembled;
  if (!isFloating(dtype) || like.shape.length !== 2) refuse('cannot be padded by the mean of its rows');
  return computedTensor(dtype, { kind: 'padRows', source: assembled, from: padFrom });
};

/** Gathers rows from one byte range, which spans the first to the last of them. */
export const gathered = (
  { shape, stored }: VocabularyTensor,
  runs: readonly RowRun[],
  rows: number,
): Operand => {
  const rowBytes = (stored.end - stored.begin) / itemAt(shape, 0);
  let [first, end] = [Number.POSITIVE_INFINITY, 0];
  for (const [, from, count] of runs) {
    first = Math.min(first, from);
    end = Math.max(end, from + count);
  }
  const source: StoredTensor = {
    ...stored,
    begin: stored.begin + first * rowBytes,
    end: stored.begin + end * rowBytes,
  };
  const [only, ...more] = runs;
  if (only?.[0] === 0 && only[2] === rows && more.length === 0) return source;
  return gatheredTensor(
    rows,
    runs.map(([to, from, count]) => [to, from - first, count]),
    source,
  );
};
