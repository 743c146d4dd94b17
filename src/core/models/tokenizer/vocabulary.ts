/**
 * Rows [to, to + count) of the output's vocabulary are rows [from, from + count) of a model's embeddings (and
 * of its head). Vocabularies are mostly the same but for their end, so that a few runs describe one.
 */
export type RowRun = readonly [to: number, from: number, count: number];

/** Rows of the output that one model lacks, or is not to be asked for: taken from other models. */
export interface RowFill {
  /** Rows of the output, as [first, count], ascending. */
  readonly rows: readonly (readonly [first: number, count: number])[];
  /**
   * Models and the rows of theirs that stand there: one is copied, several are averaged (equal weights, in
   * this order). None: the rows are 0.
   */
  readonly from: readonly { readonly model: number; readonly runs: readonly RowRun[] }[];
}

/** What one model gives for each row of the output's vocabulary. */
export interface ModelRows {
  /** Its own rows, ascending by `to`. Rows of the output in neither `own` nor a fill are 0. */
  readonly own: readonly RowRun[];
  /** Disjoint from `own` and from each other. */
  readonly fills: readonly RowFill[];
}

/** The vocabulary of a merge whose models differ in theirs. */
export interface MergedVocabulary {
  /** Rows of the output's embeddings and head: `vocab_size` of its `config.json`. */
  readonly rows: number;
  /**
   * Rows from here on are padding without a token and are, in each model, the mean of the rows before
   * (`pad_to_multiple_of`); equal to `rows` where there are none.
   */
  readonly padFrom: number;
  /** By model: those that are merged, then companions. */
  readonly models: readonly ModelRows[];
  /** Index of the model whose tokenizer files the output has, but for those in `files`. */
  readonly donor: number;
  /** Tokenizer files that are written anew. */
  readonly files: readonly { readonly name: string; readonly text: string }[];
  readonly warnings: readonly string[];
}

/** Where the embedding of one token comes from (mergekit's `tokens:`). */
export type TokenSource =
  | { readonly kind: 'zero' }
  /** The same token's row in a model. */
  | { readonly kind: 'model'; readonly model: number }
  /** Another token's row in a model. */
  | { readonly kind: 'token'; readonly model: number; readonly token: string | number };

/** What a recipe wants of its tokenizer. */
export interface TokenizerRequest {
  /**
   * - `auto`: the union, by the first model's ids, where every token that two models share has one id in both;
   *   else an error.
   * - `strict`: an error where vocabularies differ.
   * - `rows`: rows are merged by their numbers whatever their tokens, with a warning (mergekit without a source).
   * - `union`, `base`, or the index of a model: as mergekit has them, with as many rows as there are tokens.
   */
  readonly source: 'auto' | 'strict' | 'rows' | 'union' | 'base' | number;
  /**
   * Index of the base, by whose ids a union goes, and whose row a token gets in models that lack it. Where the
   * recipe has none, a union goes by the first model's ids, and rows of several models are averaged.
   */
  readonly base: number | undefined;
  readonly tokens: ReadonlyMap<string, { readonly source?: TokenSource; readonly force: boolean }>;
  readonly padToMultipleOf?: number;
}

/**
 * How rows of tokens that a model lacks are made: sums of rows of shared tokens, means of rows of the tokens that the
 * text is split into, the mean of all rows, or zeros.
 */
export const newRows = ['omp', 'subword', 'mean', 'zero'] as const;

/** How a model gets the tokenizer of another one. */
export interface TransplantRequest {
  readonly rows: (typeof newRows)[number];
  /** Rows of a sum, at most. */
  readonly k: number;
}
