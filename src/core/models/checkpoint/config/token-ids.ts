import { isObject } from '../files/json.js';

type Json = Readonly<Record<string, unknown>>;

export interface TokenMove {
  readonly from: number;
  /** Number of rows after the change; undefined if they stay. */
  readonly to: number | undefined;
  idOf(id: number): number | undefined;
}

export const unmoved: TokenMove = { from: 0, to: undefined, idOf: (id) => id };

type Moving = (value: unknown, idOf: TokenMove['idOf']) => unknown;

/** Moves an id, or a sequence of ids, which is removed with any of its tokens. */
const sequence: Moving = (value, idOf) => {
  if (typeof value === 'number') return value < 0 ? value : idOf(value);
  if (!Array.isArray(value)) return value;
  const ids = value.map((inner) => sequence(inner, idOf));
  return ids.includes(undefined) ? undefined : ids;
};

/** Moves an id, or a list or dictionary of sequences; undefined for one id without a token. */
const each: Moving = (value, idOf) => {
  const isPresent = (id: unknown) => id !== undefined;
  if (Array.isArray(value)) return value.map((inner) => sequence(inner, idOf)).filter(isPresent);
  if (!isObject(value)) return sequence(value, idOf);
  const ids = Object.entries(value).map(([key, inner]) => [key, sequence(inner, idOf)] as const);
  return Object.fromEntries(ids.filter(([, id]) => isPresent(id)));
};

/** Moves one column of a list of pairs. */
const column =
  (index: number): Moving =>
  (value, idOf) =>
    Array.isArray(value) && value.every(Array.isArray)
      ? value.flatMap((pair) => {
          const id = sequence(pair[index], idOf);
          return id === undefined ? [] : [pair.with(index, id)];
        })
      : value;

/** Keys of `config.json` and `generation_config.json` with token ids. */
const ofIds: readonly (readonly [RegExp, Moving])[] = [
  [/(^|_)token_(ids?|index)$|^(begin_)?suppress_tokens$|^(bad|force)_words_ids$/, each],
  [/^(lang|task)_to_id$|^text_decoder_lang_to_code_id$/, each],
  [/^(im|image|slice|audio_stream)_(start|end|newline|bos|eos|patch)_id$|^(newline|bos|eos|pad)_id$/, each],
  [/^(bos|eos|pad|unk|mask)_index$/, each],
  [/^forced_decoder_ids$/, column(1)],
  [/^sequence_bias$/, column(0)],
];

/** Loaders refuse null for other tokens, such as those of images; no token has the id -1. */
const mayBeNull = /(^|_)(bos|eos|pad|sep|cls|unk|mask|decoder_start)_token_id$/;

const movedIds = (config: Json, { idOf }: TokenMove): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(config).flatMap(([key, value]) => {
      const move = ofIds.find(([pattern]) => pattern.test(key))?.[1];
      if (move === undefined || value === null) return [];
      return [[key, move(value, idOf) ?? (mayBeNull.test(key) ? null : -1)]];
    }),
  );

/** Keys of a language model's configuration, which may leave out its vocabulary's size. */
const ofLanguage = ['text_config', 'thinker_config', 'llm_config', 'language_config'];

const languageIn = (config: Json): Json | undefined => ofLanguage.map((key) => config[key]).find(isObject);

const sizeOf = (config: Json): unknown => {
  const inner = languageIn(config);
  return (inner === undefined ? undefined : sizeOf(inner)) ?? config['vocab_size'];
};

/**
 * Returns the configuration keys that change with the vocabulary: its size and token ids, also in
 * configurations of parts. In parts with a smaller vocabulary, such as a talker's, only ids beyond that change.
 * A removed token's id becomes null or -1.
 *
 * @param extra ids to set as they are, if the configuration has the key
 */
export const vocabularyEdits = (config: Json, move: TokenMove, extra: Json = {}): Record<string, unknown> =>
  editsOf(config, move, extra, sizeOf(config) ?? move.from);

const editsOf = (
  config: Json,
  move: TokenMove,
  extra: Json,
  size: unknown,
  isLanguage = false,
): Record<string, unknown> => {
  const { from, to, idOf } = move;
  const hasSize = 'vocab_size' in config || (isLanguage && languageIn(config) === undefined);
  const edits: Record<string, unknown> = {
    ...movedIds(config, move),
    ...Object.fromEntries(Object.entries(extra).filter(([key]) => key in config)),
    ...(hasSize && to !== undefined && (config['vocab_size'] ?? from) !== to ? { vocab_size: to } : {}),
  };
  for (const [key, part] of Object.entries(config)) {
    const own = isObject(part) ? sizeOf(part) : undefined;
    const isText = ofLanguage.includes(key);
    if (!isObject(part) || (own === undefined && !isText)) continue;
    const beyond = (id: number) => (id < Number(own) ? id : idOf(id));
    const inner =
      isText || own === size
        ? editsOf(part, move, extra, size, isText)
        : editsOf(part, { from, to: undefined, idOf: beyond }, {}, size);
    edits[key] = { ...part, ...inner };
  }
  const changed = Object.entries(edits).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(config[key]),
  );
  return Object.fromEntries(changed);
};

/** Returns the special tokens' ids, also those that only the language model's configuration has. */
export const idsOfUses = (config: Json): Record<string, unknown> => {
  const inner = languageIn(config);
  const own = Object.entries(config).filter(([key]) => /^(bos|eos|pad|unk)_token_id$/.test(key));
  const within = inner === undefined ? {} : idsOfUses(inner);
  return { ...within, ...Object.fromEntries(own.filter(([key, id]) => id !== null || !(key in within))) };
};
