import { type AddedToken, AddedVocabulary } from './added-vocabulary.js';
import { TokenIds } from './token-ids.js';
import type { TokenSettings } from './token-settings.js';
import { quote } from './words.js';

/** Maximum values in a tokenizer's JSON, twice the largest: half a million merges, a million scores. */
export const mostTokenizerValues = 4_000_000;

export type Spelling =
  /** A character per byte (GPT-2). */
  | 'bytes'
  /** Text with ▁ for spaces and `<0xNN>` for bytes (SentencePiece). */
  | 'pieces'
  /** Words, with `##` before continuations (BERT). */
  | 'words'
  | 'text';

export interface Tokenizer {
  readonly file: string;
  readonly algorithm: string;
  readonly spelling: Spelling;
  /** Ids of the model's own tokens, which merges or scores form. */
  readonly vocabulary: ReadonlyMap<string, number>;
  /** Added tokens by id; a token may also be in `vocabulary`. */
  readonly added: readonly { readonly id: number; readonly token: AddedToken }[];
  readonly ids: ReadonlyMap<string, number>;
  /** Special tokens. transformers adds missing ones when it loads the tokenizer. */
  readonly special: readonly AddedToken[];
  readonly uses: TokenSettings['uses'];
}

/** A model's tokenizer, and the number of its embedding rows. Tokens with larger ids have no row. */
export interface ModelTokens {
  readonly name: string;
  readonly path: string;
  readonly rows: number;
  readonly tokenizer: Tokenizer;
}

/** Makes a tokenizer; numbers added tokens like the tokenizers library. */
export const makeTokenizer = (
  {
    file,
    algorithm,
    spelling,
    vocabulary,
  }: Pick<Tokenizer, 'file' | 'algorithm' | 'spelling' | 'vocabulary'>,
  tokens: readonly AddedToken[],
  { decoder, special, uses }: TokenSettings,
): Tokenizer => {
  const added = new AddedVocabulary(vocabulary);
  for (const token of [...tokens, ...decoder]) added.add(token);
  for (const token of special) if (!added.has(token.content)) added.add(token);
  const list = added.list();
  const ids = idsOf(vocabulary, list);
  return { file, algorithm, spelling, vocabulary, added: list, ids, special, uses };
};

/**
 * Returns ids of a model's own and added tokens; if the vocabulary has all of them, the vocabulary itself.
 *
 * @param added ids must agree with the vocabulary's
 */
export const idsOf = (
  vocabulary: ReadonlyMap<string, number>,
  added: Tokenizer['added'],
): ReadonlyMap<string, number> => {
  const more = new Map(added.map(({ id, token }) => [token.content, id]));
  for (const token of more.keys()) if (vocabulary.has(token)) more.delete(token);
  return more.size === 0 ? vocabulary : new TokenIds(vocabulary, more);
};

export const tokensWhere = (
  ids: ReadonlyMap<string, number>,
  test: (id: number, token: string) => boolean,
): string[] => {
  const tokens: string[] = [];
  ids.forEach((id, token) => {
    if (test(id, token)) tokens.push(token);
  });
  return tokens;
};

/** Returns the largest id plus 1. */
export const endOf = (ids: ReadonlyMap<string, number>): number => {
  let end = 0;
  ids.forEach((id) => {
    if (id >= end) end = id + 1;
  });
  return end;
};

export const tokenDifferences = (
  a: ReadonlyMap<string, number>,
  b: ReadonlyMap<string, number>,
): string[] => {
  const tokens = new Set([...a.keys(), ...b.keys()]);
  const say = (token: string) =>
    `${quote(token)} ${a.get(token) ?? 'absent'} against ${b.get(token) ?? 'absent'}`;
  return [...tokens].filter((token) => a.get(token) !== b.get(token)).map(say);
};
