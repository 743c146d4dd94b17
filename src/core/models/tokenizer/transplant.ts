import { LayerloomError } from '../../base/errors/errors.js';
import { TokenTexts } from './files/token-texts.js';
import { endOf, type ModelTokens } from './files/tokenizer.js';
import { Runs } from './runs.js';
import type { RowRun } from './vocabulary.js';

/** The rows of a model that gets a donor's tokenizer, numbered by the donor's ids. */
export interface TransplantedRows {
  /** Number of the donor's rows, or of its tokens if larger. */
  readonly rows: number;
  /** First of the padding rows, which have no token. */
  readonly padFrom: number;
  /** Rows of tokens that the model has too. */
  readonly own: readonly RowRun[];
  /** The tokens of `own` that have a row in the donor: [model's row, donor's row, count]. */
  readonly shared: readonly RowRun[];
  readonly lacking: readonly LackingToken[];
}

export interface LackingToken {
  readonly id: number;
  readonly token: string;
  /** The token's bytes as characters below 256. */
  readonly bytes: string;
}

/**
 * Matches a donor's tokens with a model's: by bytes, whatever the spelling; special tokens by use
 * (`bos_token`, …).
 *
 * @throws TOKENIZER_UNSUPPORTED if they share no token
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
