/** A run: output rows [to, to + count) are rows [from, from + count) of a model's embeddings and head. */
export type RowRun = readonly [to: number, from: number, count: number];

/** Output rows that come from other models, because this model lacks them or must not supply them. */
export interface RowFill {
  /** Output rows as [first, count], ascending. */
  readonly rows: readonly (readonly [first: number, count: number])[];
  /** Source models and their rows: copied from one model, averaged over several, 0 without a model. */
  readonly from: readonly { readonly model: number; readonly runs: readonly RowRun[] }[];
}

export interface ModelRows {
  /** Ascending by `to`. Output rows in neither `own` nor `fills` are 0. */
  readonly own: readonly RowRun[];
  /** Fills overlap neither `own` nor each other. */
  readonly fills: readonly RowFill[];
}

export interface MergedVocabulary {
  /** Rows in the output's embeddings and head: `vocab_size` in its `config.json`. */
  readonly rows: number;
  /** First padding row (`pad_to_multiple_of`), or `rows`. Padding is the mean of the rows before. */
  readonly padFrom: number;
  /** Rows of each model: the merged models, then companions. */
  readonly models: readonly ModelRows[];
  /** Index of the model that supplies the tokenizer's files, except `files`. */
  readonly donor: number;
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly warnings: readonly string[];
}

/** The source of a token's embedding (mergekit's `tokens:`). */
export type TokenSource =
  | { readonly kind: 'zero' }
  | { readonly kind: 'model'; readonly model: number }
  | { readonly kind: 'token'; readonly model: number; readonly token: string | number };

export interface TokenizerRequest {
  /**
   * - `auto`: the union by the first model's ids; an error if a shared token has different ids.
   * - `strict`: an error if vocabularies differ.
   * - `rows`: merges rows by number, with a warning (mergekit without a source).
   * - `union`, `base`, or the index of a model: as in mergekit, with as many rows as tokens.
   */
  readonly source: 'auto' | 'strict' | 'rows' | 'union' | 'base' | number;
  /**
   * Index of the base, which gives ids and missing rows. If there is no base, ids are the first model's, and
   * missing rows are means.
   */
  readonly base: number | undefined;
  readonly tokens: ReadonlyMap<string, { readonly source?: TokenSource; readonly force: boolean }>;
  readonly padToMultipleOf?: number;
}

/** Source of missing rows: sums of shared tokens' rows, subwords' means, the mean of all rows, or zeros. */
export const newRows = ['omp', 'subword', 'mean', 'zero'] as const;

export interface TransplantRequest {
  readonly rows: (typeof newRows)[number];
  readonly k: number;
}
