/**
 * Output rows [to, to + count) are rows [from, from + count) of a model's embeddings and head. Vocabularies
 * mostly differ at the end, so that few runs describe one.
 */
export type RowRun = readonly [to: number, from: number, count: number];

/** Output rows that a model lacks, or must not supply, taken from other models. */
export interface RowFill {
  /** Output rows as [first, count], ascending. */
  readonly rows: readonly (readonly [first: number, count: number])[];
  /**
   * Source models with their rows: a single one is copied, several are averaged with equal weights in this
   * order. Empty: the rows are 0.
   */
  readonly from: readonly { readonly model: number; readonly runs: readonly RowRun[] }[];
}

/** Sources of output rows in one model. */
export interface ModelRows {
  /** Ascending by `to`. Output rows in neither `own` nor a fill are 0. */
  readonly own: readonly RowRun[];
  /** Disjoint from `own` and each other. */
  readonly fills: readonly RowFill[];
}

export interface MergedVocabulary {
  /** Rows of the output's embeddings and head: `vocab_size` of its `config.json`. */
  readonly rows: number;
  /**
   * First padding row (`pad_to_multiple_of`); equals `rows` without padding. In each model, padding rows are
   * the mean of the rows before.
   */
  readonly padFrom: number;
  /** The rows of each model: first the merged models, then companions. */
  readonly models: readonly ModelRows[];
  /** Index of the model whose tokenizer files are used, except `files`. */
  readonly donor: number;
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly warnings: readonly string[];
}

/** Source of a token's embedding (mergekit's `tokens:`). */
export type TokenSource =
  | { readonly kind: 'zero' }
  /** The same token's row in a model. */
  | { readonly kind: 'model'; readonly model: number }
  /** Another token's row in a model. */
  | { readonly kind: 'token'; readonly model: number; readonly token: string | number };

export interface TokenizerRequest {
  /**
   * - `auto`: the union by the first model's ids; an error unless tokens that two models share have one id.
   * - `strict`: an error if vocabularies differ.
   * - `rows`: merges rows by number, with a warning (mergekit without a source).
   * - `union`, `base`, or the index of a model: as in mergekit, with as many rows as tokens.
   */
  readonly source: 'auto' | 'strict' | 'rows' | 'union' | 'base' | number;
  /**
   * Index of the base, whose ids a union uses, and whose row a missing token gets. Without a base, a union
   * uses the first model's ids and averages the rows of several models.
   */
  readonly base: number | undefined;
  readonly tokens: ReadonlyMap<string, { readonly source?: TokenSource; readonly force: boolean }>;
  readonly padToMultipleOf?: number;
}

/**
 * How to make rows of missing tokens: sums of shared tokens' rows, means of the rows of their subwords, the
 * mean of all rows, or zeros.
 */
export const newRows = ['omp', 'subword', 'mean', 'zero'] as const;

export interface TransplantRequest {
  readonly rows: (typeof newRows)[number];
  /** Most rows in a sum. */
  readonly k: number;
}
