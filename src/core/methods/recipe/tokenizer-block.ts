import {
  eachOf,
  expectKey,
  expectMapping,
  type Field,
  inCamelCase,
  isRecipe,
  present,
  readEntry,
  readFields,
} from './document/fields.js';
import { checkKeys, invalidRecipe } from './document/invalid.js';
import {
  entriesOf,
  isText,
  leaf,
  list,
  type Mapping,
  type MappingEntry,
  mapping,
  type Tree,
} from './document/tree.js';
import { sourceWords } from './model-places.js';

// Reads `tokenizer:` in either dialect as `TokenizerParameters`.

/** Handles unknown keys; default: an error. */
export type OnUnknown = (given: Mapping, place: string, known: readonly string[]) => void;

const refuseUnknown: OnUnknown = ({ entries }, place, known) => checkKeys(entries, place, known);

/**
 * Reads mergekit's `tokenizer_source` or `tokenizer`: as `tokenizerSource` if only a source is given,
 * otherwise as `tokenizer`. `source` is `base`, `union` (the default) or a model; `tokens` maps tokens to
 * `{source, force}`.
 *
 * @throws RECIPE_INVALID
 */
export const readMergekitTokenizer = async (
  { mark, entries }: Mapping,
  model: Field,
  unknown: OnUnknown = refuseUnknown,
): Promise<[string, MappingEntry][]> => {
  const [short, block] = [entries.get('tokenizer_source'), entries.get('tokenizer')];
  if (short !== undefined && block !== undefined)
    throw invalidRecipe(block.key, {
      key: 'tokenizer',
      reason: 'stands beside tokenizer_source',
      expected: 'one of them',
    });
  if (short !== undefined)
    return [['tokenizerSource', { key: short.key, value: await sourceField(model)(short.value) }]];
  if (block === undefined) return [];
  const given = expectMapping(block.value, 'tokenizer', 'source, tokens or pad_to_multiple_of');
  unknown(given, 'tokenizer', ['source', 'tokens', 'pad_to_multiple_of']);
  const inside = present(given.entries);
  const from = inside.get('source') ?? { key: block.key, value: leaf(given.mark, 'union') };
  const source = { key: from.key, value: await sourceField(model)(from.value) };
  const tokens = await readEntry(inside.get('tokens'), (value) => mergekitTokens(value, model, unknown));
  const padToMultipleOf = multipleOf(inside.get('pad_to_multiple_of'));
  if (tokens === undefined && padToMultipleOf === undefined) return [['tokenizerSource', source]];
  const value = mapping(mark, entriesOf({ source, tokens, padToMultipleOf }));
  return [['tokenizer', { key: block.key, value }]];
};

/** Reads a number, quoted or not, like pydantic; 0 means no padding. */
const multipleOf = (given: MappingEntry | undefined): MappingEntry | undefined => {
  if (given?.value.kind !== 'leaf') return given;
  const { key, value } = given;
  const number = isText(value) && /^\d+$/.test(value.value) ? Number(value.value) : value.value;
  return number === 0 ? undefined : { key, value: leaf(value.mark, number) };
};

const sourceField =
  (model: Field): Field =>
  async (value) =>
    isText(value) && (value.value === 'base' || value.value === 'union') ? value : model(value);

const mergekitTokens = async (value: Tree, model: Field, unknown: OnUnknown): Promise<Tree> => {
  const { mark, entries } = expectMapping(value, 'tokens', 'tokens, each with source or force');
  const tokens: Tree[] = [];
  for (const [token, { key, value: embedding }] of entries) {
    const given = expectMapping(embedding, token, 'source or force');
    unknown(given, 'the token', ['source', 'force']);
    const inside = present(given.entries);
    const source = await readEntry(inside.get('source'), (of) => mergekitEmbedding(of, model, unknown));
    const written = { key, value: leaf(key, token) };
    tokens.push(mapping(given.mark, entriesOf({ token: written, source, force: inside.get('force') })));
  }
  return list(mark, tokens);
};

/** Reads the source of a token's embedding: a model, `kind: zero`, or `kind: model_token`. */
const mergekitEmbedding = async (value: Tree, model: Field, unknown: OnUnknown): Promise<Tree> => {
  const kind = value.kind === 'mapping' ? value.entries.get('kind') : undefined;
  if (value.kind !== 'mapping' || kind === undefined) return model(value);
  const name = isText(kind.value) ? kind.value.value : undefined;
  if (name === 'zero') {
    unknown(value, 'the embedding', ['kind']);
    return mapping(value.mark, new Map([['zero', { key: kind.key, value: leaf(kind.key, true) }]]));
  }
  if (name !== 'model_token')
    throw invalidRecipe(kind.value.mark, {
      key: 'kind',
      reason: 'no kind of embedding',
      expected: 'zero or model_token',
    });
  unknown(value, 'the embedding', ['kind', 'model', 'token', 'token_id']);
  const inside = present(value.entries);
  const [token, id] = [inside.get('token'), inside.get('token_id')];
  if ((token === undefined) === (id === undefined))
    throw invalidRecipe(value.mark, {
      reason:
        token === undefined ? 'the embedding names no token' : 'the embedding has both token and token_id',
      expected: 'token, its text, or token_id, its number: one of the two',
    });
  const from = await readEntry(expectKey(value, 'model', 'the embedding'), model);
  return mapping(value.mark, entriesOf({ model: from, token, tokenId: id }));
};

/**
 * Reads a `tokenizer` block.
 *
 * @param model finds a model, or reads a nested recipe
 * @throws RECIPE_INVALID
 */
export const ourTokenizer =
  (model: Field): Field =>
  async (value) => {
    const given = expectMapping(value, 'tokenizer', 'source, tokens or pad_to_multiple_of');
    const token: Field = async (each) =>
      readFields(camel(expectMapping(each, 'tokens', 'token, source or force'), 'the token'), {
        source: embedding,
      });
    const embedding: Field = async (source) => {
      if (source.kind !== 'mapping' || isRecipe(source)) return model(source);
      return readFields(camel(source, 'the embedding'), { model });
    };
    return readFields(camel(given, 'tokenizer'), {
      source: ourSource(model),
      tokens: eachOf('tokens', 'a list of tokens, each with token: and source: or force:', token),
    });
  };

export const ourSource =
  (model: Field): Field =>
  async (value) => {
    if (isText(value)) return sourceWords.has(value.value) ? value : model(value);
    return value.kind === 'leaf' && value.value === null ? value : model(value);
  };

const camel = ({ mark, entries }: Mapping, place: string): Mapping =>
  mapping(mark, inCamelCase(entries, place));
