import { LayerloomError } from '../../base/errors.js';
import { Runs } from './runs.js';
import { TokenTexts } from './token-texts.js';
import { endOf, type ModelTokens } from './tokenizer.js';
import type { RowRun } from './vocabulary.js';

/** The rows of a model that gets a donor's tokenizer. A row's number is the donor's id of its token. */
export interface TransplantedRows {
  /** As many as the donor has, or as there are tokens. */
  readonly rows: number;
  /** Rows from here on are padding without a token. */
  readonly padFrom: number;
  /** Rows of tokens that the model has too: its own. */
  readonly own: readonly RowRun[];
  /** Those of the same tokens for which the donor has a row, as [row of the model, row of the donor, count]. */
  readonly shared: readonly RowRun[];
  /** Tokens that the model lacks, by their ids. */
  readonly lacking: readonly LackingToken[];
}

export interface LackingToken {
  readonly id: number;
  readonly token: string;
  /** Characters below 256. */
  readonly bytes: string;
}

/**
 * Finds which tokens of a donor a model has too: those of the same bytes, whichever way the tokenizers spell them, and
 * special tokens of the same use (`bos_token`, …).
 *
 * @throws LayerloomError TOKENIZER_UNSUPPORTED where they share none
 */
export const transplantRows = (
  ofModel: TokenTexts,
  model: ModelTokens,
  donor: ModelTokens,
): TransplantedRows => {
  const ofDonor = new TokenTexts(donor);
  const tokens = new Map<number, string>();
  for (const [token, id] of donor.tokenizer.ids) if (!tokens.has(id)) tokens.set(id, token);
  const [own, shared] = [new Runs(), new Runs()];
  const lacking: LackingToken[] = [];
  let count = 0;
  for (const [id, token] of [...tokens].sort(([a], [b]) => a - b)) {
    const bytes = ofDonor.bytesOf(token);
    const row = ofModel.rowOf(bytes) ?? ofModel.rowOfUse(ofDonor.useOf(token));
    if (row === undefined) {
      lacking.push({ id, token, bytes });
      continue;
    }
    count += 1;
    own.push(id, row);
    if (id < donor.rows) shared.push(row, id);
  }
  if (count === 0)
    throw new LayerloomError('TOKENIZER_UNSUPPORTED', {
      directory: donor.path,
      reason: `has no token that ${model.path} has too, and so none of its rows could be kept; give a donor whose tokenizer is of text in the same scripts`,
    });
  const padFrom = endOf(donor.tokenizer.ids);
  return { rows: Math.max(donor.rows, padFrom), padFrom, own: own.runs, shared: shared.runs, lacking };
};
