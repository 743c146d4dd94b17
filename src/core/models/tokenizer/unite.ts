import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt, valueAt } from '../../base/errors/lookup.js';
import { type AddedToken, AddedVocabulary, plainToken, sameSettings } from './files/added-vocabulary.js';
import { idsOf, type ModelTokens, makeTokenizer, type Tokenizer, tokensWhere } from './files/tokenizer.js';
import { someTokens } from './files/words.js';

/** An output's tokens, and how they differ from the donor's files. */
export interface OutputTokens {
  readonly ids: ReadonlyMap<string, number>;
  readonly added: Tokenizer['added'];
  readonly changed: boolean;
  readonly stripped: ReadonlySet<string>;
  readonly warnings: readonly string[];
}

/**
 * Returns the tokens of `models[base]`, then the other models' tokens in order. First come tokens of the other
 * vocabularies by id, which become plain added tokens; then added tokens, with the first model's settings; then
 * `wanted` tokens that no model has.
 *
 * @throws TOKENIZER_UNSUPPORTED
 */
export const uniteTokens = (
  models: readonly ModelTokens[],
  base: number,
  wanted: Iterable<string> = [],
): OutputTokens => {
  const { tokenizer, stripped } = strip(itemAt(models, base));
  const others = distinct(models.filter((_, index) => index !== base));
  const { settings, differing } = settingsOf([{ ...itemAt(models, base), tokenizer }, ...others]);
  const output = new AddedVocabulary(tokenizer.vocabulary);
  for (const { token } of tokenizer.added) output.add(token);
  for (const token of plainTokens(tokenizer, others, settings)) output.add(plainToken(token));
  for (const token of settings.values()) output.add(token);
  const warnings =
    differing.length === 0
      ? []
      : [
          `models have other settings for ${someTokens(differing)}; those of the first that has the token are kept`,
        ];
  return outputOf(itemAt(models, base), tokenizer, stripped, output, wanted, warnings);
};

/**
 * Returns one model's tokens; `strips` removes tokens without rows.
 *
 * @throws as `uniteTokens`
 */
export const tokensOf = (model: ModelTokens, strips: boolean, wanted: Iterable<string>): OutputTokens => {
  const { tokenizer, stripped } = strips
    ? strip(model)
    : { tokenizer: model.tokenizer, stripped: new Set<string>() };
  const output = new AddedVocabulary(tokenizer.vocabulary);
  for (const { token } of tokenizer.added) output.add(token);
  return outputOf(model, tokenizer, stripped, output, wanted, []);
};

const outputOf = (
  donor: ModelTokens,
  tokenizer: Tokenizer,
  stripped: ReadonlySet<string>,
  output: AddedVocabulary,
  wanted: Iterable<string>,
  warnings: readonly string[],
): OutputTokens => {
  for (const token of wanted) if (output.idOf(token) === undefined) output.add(plainToken(token));
  const added = output.list();
  const before = new Map(tokenizer.added.map(({ token }) => [token.content, token]));
  const ids = idsOf(tokenizer.vocabulary, added);
  checkNewIds(donor, tokenizer, added);
  return {
    ids,
    added,
    changed: stripped.size > 0 || added.some(({ token }) => before.get(token.content) !== token),
    stripped,
    warnings: [
      ...(stripped.size === 0
        ? []
        : [
            `${donor.name} has ${donor.rows} rows, and none for ${someTokens([...stripped])}: left out of its tokenizer`,
          ]),
      ...warnings,
    ],
  };
};

/** Refuses an added token whose id is taken: the tokenizers library counts from the vocabulary's size. */
const checkNewIds = (donor: ModelTokens, { vocabulary }: Tokenizer, added: Tokenizer['added']): void => {
  const wanted = new Set(added.map(({ id }) => id));
  const byId = new Map<number, string>();
  for (const token of tokensWhere(vocabulary, (id) => wanted.has(id)))
    byId.set(valueAt(vocabulary, token), token);
  const twice = added.filter(({ id, token }) => (byId.get(id) ?? token.content) !== token.content);
  if (twice.length > 0)
    throw new LayerloomError('TOKENIZER_UNSUPPORTED', {
      directory: donor.path,
      reason: `ids of its vocabulary leave some out, so that ${someTokens(twice.map(({ token }) => token.content))} would get the ids of other tokens; give another model's vocabulary`,
    });
};

/**
 * Removes tokens without a row. Special tokens move to the end, because transformers adds them when loading.
 */
const strip = ({
  path,
  rows,
  tokenizer,
}: ModelTokens): { tokenizer: Tokenizer; stripped: ReadonlySet<string> } => {
  const unused = new Set(tokensWhere(tokenizer.ids, (id) => id >= rows));
  if (unused.size === 0) return { tokenizer, stripped: unused };
  const kept = makeTokenizer(
    { ...tokenizer, vocabulary: new Map([...tokenizer.vocabulary].filter(([token]) => !unused.has(token))) },
    tokenizer.added.filter(({ id }) => id < rows).map(({ token }) => token),
    { decoder: [], special: tokenizer.special, uses: tokenizer.uses },
  );
  const stripped = new Set([...unused].filter((token) => !kept.ids.has(token)));
  if (stripped.size > 0 && tokenizer.algorithm !== 'BPE')
    throw new LayerloomError('TOKENIZER_UNSUPPORTED', {
      directory: path,
      reason: `its embeddings have ${rows} rows, and none for ${someTokens([...stripped])}, which can be left out of a BPE tokenizer only, and this is ${tokenizer.algorithm}; give another model's vocabulary`,
    });
  return { tokenizer: kept, stripped };
};

const distinct = (models: readonly ModelTokens[]): ModelTokens[] =>
  models.filter(
    ({ tokenizer, rows }, index) =>
      models.findIndex((model) => model.tokenizer === tokenizer && model.rows === rows) === index,
  );

/** Returns settings of added tokens with a row, from the first model that has the token. */
const settingsOf = (models: readonly ModelTokens[]) => {
  const settings = new Map<string, AddedToken>();
  const differing = new Set<string>();
  for (const { rows, tokenizer } of models)
    for (const { id, token } of tokenizer.added) {
      if (id >= rows) continue;
      const known = settings.get(token.content);
      if (known === undefined) settings.set(token.content, token);
      else if (!sameSettings(known, token)) differing.add(token.content);
    }
  return { settings, differing: [...differing] };
};

const plainTokens = (
  tokenizer: Tokenizer,
  others: readonly ModelTokens[],
  settings: ReadonlyMap<string, AddedToken>,
): Set<string> => {
  const tokens = new Set<string>();
  for (const other of others) {
    if (other.tokenizer.vocabulary === tokenizer.vocabulary) continue;
    const { vocabulary } = other.tokenizer;
    const lacking = tokensWhere(
      vocabulary,
      (id, token) => id < other.rows && !tokenizer.ids.has(token) && !settings.has(token),
    );
    for (const token of lacking.sort((a, b) => valueAt(vocabulary, a) - valueAt(vocabulary, b)))
      tokens.add(token);
  }
  return tokens;
};

/**
 * Returns the tokens, made by other models' merges or scores, that a union based on `models[base]` would add.
 */
export const plainTokensWithout = (models: readonly ModelTokens[], base: number): Set<string> => {
  const { settings } = settingsOf(models);
  return plainTokens(itemAt(models, base).tokenizer, distinct(models), settings);
};
