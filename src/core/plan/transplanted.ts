import { LayerloomError } from '../base/errors/errors.js';
import { itemAt } from '../base/errors/lookup.js';
import type { RowRange } from '../methods/operations/rows/assemble.js';
import type { TransplantedRows } from '../models/tokenizer/transplant.js';
import type { RowRun } from '../models/tokenizer/vocabulary.js';
import { isFloating } from '../tensor/dtype.js';
import { gathered, type VocabularyTensor } from './in-vocabulary.js';
import { averagedTensor, type RowMean } from './operands/averaged.js';
import { computedTensor } from './operands/computed.js';
import { pursuedTensor } from './operands/pursued.js';
import { inDtype } from './operands.js';
import type { Operand } from './plan.js';

/** How to make rows for tokens that a model lacks. */
export type NewRows =
  | { readonly kind: 'zero' }
  | { readonly kind: 'mean' }
  | { readonly kind: 'subword'; readonly means: readonly RowMean[] }
  /** Sums of shared tokens' rows. `of` returns the donor's counterpart of a tensor. */
  | { readonly kind: 'omp'; readonly k: number; readonly of: (name: string) => VocabularyTensor };

/**
 * Keeps shared tokens' rows and makes the other tokens' rows. In tensors with one number per token, such as a bias, the
 * other tokens get 0.
 *
 * @throws VOCABULARY_UNMERGEABLE
 */
export const transplantedTensor = (
  like: VocabularyTensor,
  { rows, padFrom, own, shared, lacking }: TransplantedRows,
  made: NewRows,
  donorRows: number,
): Operand => {
  const { dtype } = like.stored;
  const refuse = (reason: string): never => {
    throw new LayerloomError('VOCABULARY_UNMERGEABLE', { model: like.path, tensor: like.name, reason });
  };
  if (!isFloating(dtype)) refuse(`is ${dtype}, so no rows can be made of it`);
  const kept = { source: gathered(like, own, rows), rows: own.map(([to, , count]): RowRange => [to, count]) };
  const isMatrix = like.shape.length === 2;
  const source = like.stored;
  const fill = (operand: Operand, ids: readonly number[]) => ({
    source: inDtype(operand, dtype),
    rows: runsOf(ids).map(([first, , count]): RowRange => [first, count]),
  });
  const fills = () => {
    const ids = lacking.map(({ id }) => id);
    if (!isMatrix || ids.length === 0 || made.kind === 'zero') return [];
    if (made.kind === 'mean') return [fill(averagedTensor(rows, 'all', source), ids)];
    if (made.kind === 'subword')
      return made.means.length === 0
        ? []
        : [
            fill(
              averagedTensor(rows, made.means, source),
              made.means.map(([to]) => to),
            ),
          ];
    const inDonor = ids.filter((id) => id < donorRows);
    if (inDonor.length === 0) return [];
    const donor = made.of(like.name);
    return [
      fill(
        pursuedTensor({
          rows,
          k: made.k,
          tokens: runsOf(inDonor),
          shared,
          source,
          donor: donor.stored,
          width: itemAt(donor.shape, 1),
        }),
        inDonor,
      ),
    ];
  };
  const made_ = fills();
  const assembled: Operand =
    made_.length === 0 ? kept.source : computedTensor(dtype, { kind: 'assemble', parts: [kept, ...made_] });
  if (padFrom === rows || !isMatrix) return assembled;
  return computedTensor(dtype, { kind: 'padRows', source: assembled, from: padFrom });
};

const runsOf = (ids: readonly number[]): RowRun[] => {
  const runs: [number, number, number][] = [];
  for (const id of ids) {
    const last = runs.at(-1);
    if (last !== undefined && last[0] + last[2] === id) last[2] += 1;
    else runs.push([id, id, 1]);
  }
  return runs;
};
