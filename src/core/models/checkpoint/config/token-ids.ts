import { isObject } from '../files/json.js';

type Json = Readonly<Record<string, unknown>>;

/** Keys of `config.json` and `generation_config.json` that hold token ids. */
const ofIds = /(^|_)token_(ids?|index)$|^(begin_)?suppress_tokens$|^bad_words_ids$/;

export interface TokenMove {
  readonly from: number;
  /** Number of rows after the change; undefined if they stay. */
  readonly to: number | undefined;
  idOf(id: number): number | undefined;
}

export const unmoved: TokenMove = { from: 0, to: undefined, idOf: (id) => id };

/**
 * Returns the configuration keys that change with the vocabulary: its size and token ids, also in
 * `text_config`. A removed token's id becomes null.
 *
 * @param extra ids to set as they are, if the configuration has the key
 */
export const vocabularyEdits = (config: Json, move: TokenMove, extra: Json = {}): Record<string, unknown> => {
  const edits = editsOf(config, move, extra, 'vocab_size' in config);
  const text = config['text_config'];
  if (!isObject(text)) return edits;
  const inner = editsOf(text, move, extra, true);
  return Object.keys(inner).length === 0 ? edits : { ...edits, text_config: { ...text, ...inner } };
};

/** Returns token ids in another vocabulary: `{ eos_token_id: [2, 7] }`. */
export const movedIds = (config: Json, { idOf }: TokenMove): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(config).flatMap(([key, value]): [string, unknown][] => {
      if (!ofIds.test(key)) return [];
      const moved = (id: number) => (id < 0 ? id : idOf(id));
      if (typeof value === 'number') return [[key, moved(value) ?? null]];
      if (!Array.isArray(value)) return [];
      if (value.every((id) => typeof id === 'number'))
        return [[key, (value as number[]).flatMap((id) => moved(id) ?? [])]];
      // A list of token sequences; drops those with a removed token.
      if (!value.every((ids) => Array.isArray(ids) && ids.every((id) => typeof id === 'number'))) return [];
      const sequences = (value as number[][]).map((ids) => ids.map(moved));
      return [[key, sequences.filter((ids) => !ids.includes(undefined))]];
    }),
  );

export const idsOfUses = (config: Json): Record<string, unknown> =>
  Object.fromEntries(Object.entries(config).filter(([key]) => /^(bos|eos|pad|unk)_token_id$/.test(key)));

const editsOf = (config: Json, move: TokenMove, extra: Json, isSized: boolean): Record<string, unknown> => {
  const given = Object.entries(extra).filter(([key]) => key in config);
  const edits = { ...movedIds(config, move), ...Object.fromEntries(given) };
  const changed = Object.entries(edits).filter(
    ([key, value]) => JSON.stringify(value) !== JSON.stringify(config[key]),
  );
  const size = isSized && move.to !== undefined && config['vocab_size'] !== move.to && 'vocab_size' in config;
  return { ...Object.fromEntries(changed), ...(size ? { vocab_size: move.to } : {}) };
};
