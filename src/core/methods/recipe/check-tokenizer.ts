import { isCount } from '../../base/is-count.js';
import { nearest } from '../../base/nearest.js';
import { isGiven, isObject } from '../../models/checkpoint/files/json.js';
import type { TokenizerRequest, TokenSource } from '../../models/tokenizer/vocabulary.js';
import type { ModelReference, RecipePath } from '../framework/declaration/method.js';
import { invalidSetting } from '../framework/declaration/settings.js';
import { same } from '../framework/tensors/tensor-recipe.js';

/**
 * Checks tokenizer settings. The source defaults to `auto` in our dialect; in mergekit's, rows are merged by
 * index.
 *
 * @param references models, then companions; the request refers to their indexes
 * @throws INVALID_PARAMETER
 */
export const checkTokenizer = (
  { dialect, tokenizerSource, tokenizer }: Readonly<Record<string, unknown>>,
  references: readonly ModelReference[],
  path: RecipePath,
): TokenizerRequest => {
  const at = [...path, 'tokenizer'];
  if (isGiven(tokenizer) && !isObject(tokenizer))
    throw invalidSetting(at, tokenizer, 'source, tokens or pad_to_multiple_of');
  const block = isObject(tokenizer) ? tokenizer : {};
  checkKeys(block, ['source', 'tokens', 'padToMultipleOf'], at);
  const { source, tokens, padToMultipleOf } = block;
  if (isGiven(source) && isGiven(tokenizerSource))
    throw invalidSetting([...path, 'tokenizerSource'], tokenizerSource, 'no source beside that of tokenizer');
  const base = references.findIndex(({ role }) => role === 'base');
  const asked = isGiven(source) ? source : tokenizerSource;
  const place = isGiven(source) ? [...at, 'source'] : [...path, 'tokenizerSource'];
  const multiple = isGiven(padToMultipleOf)
    ? checkMultiple(padToMultipleOf, [...at, 'padToMultipleOf'])
    : undefined;
  return {
    source: isGiven(asked)
      ? checkSource(asked, references, place)
      : dialect === 'mergekit' && !isObject(tokenizer)
        ? 'rows'
        : 'auto',
    base: base < 0 ? undefined : base,
    tokens: checkTokens(isGiven(tokens) ? tokens : [], references, [...at, 'tokens']),
    ...(multiple === undefined ? {} : { padToMultipleOf: multiple }),
  };
};

const words = ['auto', 'strict', 'union', 'base'] as const;

const modelWords = "one of the recipe's models as it is written there";

const indexOf = (model: unknown, references: readonly ModelReference[], path: RecipePath): number => {
  const index = references.findIndex((reference) => same(reference.model, model));
  if (index < 0) throw invalidSetting(path, model, modelWords);
  return index;
};

const checkSource = (
  source: unknown,
  references: readonly ModelReference[],
  path: RecipePath,
): TokenizerRequest['source'] => {
  const word = words.find((one) => one === source);
  if (word !== undefined) return word;
  const index = references.findIndex(({ model }) => same(model, source));
  if (index >= 0) return index;
  const near = typeof source === 'string' ? nearest(source, words) : undefined;
  throw invalidSetting(path, source, `${words.join(', ')}, or ${modelWords}${meant(near)}`);
};

const checkMultiple = (value: unknown, path: RecipePath): number => {
  if (Number.isSafeInteger(value) && Number(value) >= 1) return Number(value);
  throw invalidSetting(path, value, 'a whole number from 1 on');
};

const checkTokens = (
  tokens: unknown,
  references: readonly ModelReference[],
  path: RecipePath,
): TokenizerRequest['tokens'] => {
  if (!Array.isArray(tokens))
    throw invalidSetting(path, tokens, 'a list of tokens, each with source or force');
  const checked = new Map<string, { readonly source?: TokenSource; readonly force: boolean }>();
  for (const [index, each] of tokens.entries()) {
    const at = [...path, index];
    const given: Readonly<Record<string, unknown>> = isObject(each) ? each : {};
    const { token, source, force } = given;
    if (typeof token !== 'string' || token === '')
      throw invalidSetting([...at, 'token'], token ?? null, 'the text of a token');
    if (checked.has(token)) throw invalidSetting([...at, 'token'], token, 'each token once');
    if (isGiven(force) && typeof force !== 'boolean')
      throw invalidSetting([...at, 'force'], force, 'true or false');
    checkKeys(given, ['token', 'source', 'force'], at);
    checked.set(token, {
      ...(isGiven(source) ? { source: checkEmbedding(source, references, [...at, 'source']) } : {}),
      force: force === true,
    });
  }
  return checked;
};

const checkEmbedding = (
  source: unknown,
  references: readonly ModelReference[],
  path: RecipePath,
): TokenSource => {
  if (!isObject(source) || 'method' in source)
    return { kind: 'model', model: indexOf(source, references, path) };
  checkKeys(source, ['zero', 'model', 'token', 'tokenId'], path);
  const { zero, model, token, tokenId } = source;
  if (zero === true && !isGiven(model)) return { kind: 'zero' };
  const id = typeof token === 'string' ? token : tokenId;
  if (!isToken(id) || (typeof token === 'string' && isGiven(tokenId)))
    throw invalidSetting(path, source, 'a model and its token or token_id, or {zero: true}');
  return { kind: 'token', model: indexOf(model, references, [...path, 'model']), token: id };
};

const isToken = (id: unknown): id is string | number => typeof id === 'string' || isCount(id);

const checkKeys = (
  block: Readonly<Record<string, unknown>>,
  known: readonly string[],
  path: RecipePath,
): void => {
  const key = Object.keys(block).find((one) => !known.includes(one));
  if (key === undefined) return;
  throw invalidSetting([...path, key], block[key], `one of ${known.join(', ')}${meant(nearest(key, known))}`);
};

const meant = (near: string | undefined): string => (near === undefined ? '' : `; did you mean ${near}?`);
