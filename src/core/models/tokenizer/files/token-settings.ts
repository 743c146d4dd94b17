import { LayerloomError } from '../../../base/errors/errors.js';
import type { CheckpointIndex } from '../../checkpoint/checkpoint.js';
import { isObject } from '../../checkpoint/files/json.js';
import { sideFileObject } from '../../checkpoint/side-file-content.js';
import { type AddedToken, plainToken } from './added-vocabulary.js';

/** Tokens that transformers adds when it loads a tokenizer, beyond the vocabulary's file. */
export interface TokenSettings {
  /** Tokens whose settings override those in the vocabulary's file. */
  readonly decoder: readonly AddedToken[];
  readonly special: readonly AddedToken[];
  /** Special tokens by use, such as `['bos_token', '<s>']`. */
  readonly uses: readonly (readonly [use: string, token: string])[];
}

const named = ['bos_token', 'eos_token', 'unk_token', 'sep_token', 'pad_token', 'cls_token', 'mask_token'];
const lists = ['additional_special_tokens', 'extra_special_tokens'];

/** Maximum added tokens, ten times a usual model's: each becomes a row of a union. */
const mostAdded = 100_000;

/**
 * Reads a tokenizer's special tokens and `added_tokens_decoder`; without the latter, `added_tokens.json`.
 *
 * @throws READ_FAILED, CONFIG_INVALID, TOKENIZER_UNSUPPORTED above the limit
 */
export const readTokenSettings = async (checkpoint: CheckpointIndex): Promise<TokenSettings> => {
  const settings = await readAll(checkpoint);
  const count = new Set([...settings.decoder, ...settings.special].map(({ content }) => content)).size;
  if (count > mostAdded)
    throw new LayerloomError('TOKENIZER_UNSUPPORTED', {
      directory: checkpoint.path,
      reason: `has ${count} added and special tokens, and may have ${mostAdded}`,
    });
  return settings;
};

const readAll = async (checkpoint: CheckpointIndex): Promise<TokenSettings> => {
  const read = async (name: string): Promise<Record<string, unknown>> =>
    (await sideFileObject(checkpoint, name)) ?? {};
  const config = await read('tokenizer_config.json');
  const decoder = config['added_tokens_decoder'];
  const specialsOf = (from: Record<string, unknown>) =>
    [...named, ...lists].flatMap((key) => specialTokens(from[key]));
  const usesOf = (from: Record<string, unknown>) =>
    named.flatMap((key) => specialTokens(from[key]).map(({ content }) => [key, content] as const));
  if (isObject(decoder))
    return {
      decoder: byId(decoder, (_, token) => settingsOf(token)),
      special: specialsOf(config),
      uses: usesOf(config),
    };
  const specials = { ...config, ...(await read('special_tokens_map.json')) };
  const special = specialsOf(specials);
  const names = new Set(special.map(({ content }) => content));
  const legacy = byId(await read('added_tokens.json'), (token) => plainToken(token, names.has(token)));
  return { decoder: [], special: [...legacy, ...special], uses: usesOf(specials) };
};

/** @param tokenOf makes a token of an entry, whose key or value is the id */
const byId = (
  tokens: Record<string, unknown>,
  tokenOf: (key: string, value: unknown) => AddedToken | undefined,
): AddedToken[] =>
  Object.entries(tokens)
    .map(([key, value]) => ({ id: Number(isObject(value) ? key : value), token: tokenOf(key, value) }))
    .sort((a, b) => a.id - b.id)
    .flatMap(({ token }) => token ?? []);

const specialTokens = (value: unknown): AddedToken[] => {
  if (typeof value === 'string') return [plainToken(value, true)];
  if (Array.isArray(value)) return value.flatMap(specialTokens);
  if (!isObject(value)) return [];
  if (!('content' in value)) return Object.values(value).flatMap(specialTokens);
  const token = settingsOf({ ...value, special: true });
  return token === undefined ? [] : [token];
};

export const settingsOf = (value: unknown): AddedToken | undefined => {
  if (!isObject(value) || typeof value['content'] !== 'string') return undefined;
  const { content, single_word, lstrip, rstrip, normalized, special } = value;
  return {
    content: content as string,
    single_word: single_word === true,
    lstrip: lstrip === true,
    rstrip: rstrip === true,
    normalized: typeof normalized === 'boolean' ? normalized : special !== true,
    special: special === true,
  };
};
