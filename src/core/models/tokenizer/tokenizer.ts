import { type AddedToken, AddedVocabulary } from './added-vocabulary.js';
import { TokenIds } from './token-ids.js';
import type { TokenSettings } from './token-settings.js';
import { quote } from './words.js';

/** Limit on values of a tokenizer's JSON, twice as many as the largest have: half a million merges, a million scores. */
export const mostTokenizerValues = 4_000_000;

/** How a tokenizer's vocabulary spells the bytes of its tokens. */
export type Spelling =
  /** A character for each byte (GPT-2's). */
  | 'bytes'
  /** Text with ▁ for spaces, and `<0xNN>` for bytes (SentencePiece's). */
  | 'pieces'
  /** Words, and behind `##` what goes on with one (BERT's). */
  | 'words'
  | 'text';

/** A tokenizer as far as its vocabulary goes. */
export interface Tokenizer {
  /** The file of the vocabulary, for messages. */
  readonly file: string;
  /** `BPE`, `Unigram`, `WordPiece` or `WordLevel`. */
  readonly algorithm: string;
  /** How the vocabulary spells the bytes of its tokens. */
  readonly spelling: Spelling;
  /** Ids of the model's own tokens: those that merges or scores make. */
  readonly vocabulary: ReadonlyMap<string, number>;
  /** By id; one may also stand in `vocabulary`. */
  readonly added: readonly { readonly id: number; readonly token: AddedToken }[];
  /** Ids of all tokens. */
  readonly ids: ReadonlyMap<string, number>;
  /** Special tokens, which transformers adds again where they are missing. */
  readonly special: readonly AddedToken[];
  /** Which tokens are for what: `['bos_token', '<s>']`. */
  readonly uses: TokenSettings['uses'];
}

/** A model's tokenizer, and the number of rows of its embeddings; tokens with an id beyond them have no row. */
export interface ModelTokens {
  readonly name: string;
  readonly path: string;
  readonly rows: number;
  readonly tokenizer: Tokenizer;
}

/**
 * Numbers the added tokens as the tokenizers library does.
 *
 * @param tokens of the vocabulary's file, in its order
 */
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
 * Ids of a model's own tokens and of the added ones: the vocabulary itself where that has them all.
 *
 * @param added those that the vocabulary has with the ids that it gives them
 */
export const idsOf = (
  vocabulary: ReadonlyMap<string, number>,
  added: Tokenizer['added'],
): ReadonlyMap<string, number> => {
  const more = new Map(added.map(({ id, token }) => [token.content, id]));
  for (const token of more.keys()) if (vocabulary.has(token)) more.delete(token);
  return more.size === 0 ? vocabulary : new TokenIds(vocabulary, more);
};

/** Returns the tokens of which `test` is true. Lists of a hundred thousand pairs are not made for it. */
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

/** The number of ids up to the last. */
export const endOf = (ids: ReadonlyMap<string, number>): number => {
  let end = 0;
  ids.forEach((id) => {
    if (id >= end) end = id + 1;
  });
  return end;
};

/** Tokens that two tokenizers number otherwise, each described. */
export const tokenDifferences = (
  a: ReadonlyMap<string, number>,
  b: ReadonlyMap<string, number>,
): string[] => {
  const tokens = new Set([...a.keys(), ...b.keys()]);
  const say = (token: string) =>
    `${quote(token)} ${a.get(token) ?? 'absent'} against ${b.get(token) ?? 'absent'}`;
  return [...tokens].filter((token) => a.get(token) !== b.get(token)).map(say);
};
