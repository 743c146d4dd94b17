import { randomUUID } from 'node:crypto';

const [quote, backslash] = [0x22, 0x5c];

interface Brackets {
  readonly open: '[' | '{';
  readonly close: ']' | '}';
}

const list: Brackets = { open: '[', close: ']' };
const object: Brackets = { open: '{', close: '}' };

export interface TokenizerText {
  /** The text with empty merges, and `mark` in place of the vocabulary. */
  readonly rest: string;
  readonly mark: string;
  /** The object of ids as in the file; undefined if absent. */
  readonly vocabulary: Buffer | undefined;
}

/** Splits the first object under the key `vocab` off a `tokenizer.json`, and empties the merges. */
export const splitTokenizer = (content: Buffer): TokenizerText => {
  const mark = randomUUID();
  const place = placeOf(content, '"vocab"', object);
  if (place === undefined) return { rest: withoutMerges(content), mark, vocabulary: undefined };
  const [first, end] = [place[0] - 1, place[1] + 1];
  const rest = withoutMerges(
    Buffer.concat([content.subarray(0, first), Buffer.from(JSON.stringify(mark)), content.subarray(end)]),
  );
  return { rest, mark, vocabulary: content.subarray(first, end) };
};

/**
 * Returns a `tokenizer.json` without merges: they do not affect ids, and parsing them takes several times the
 * time and memory of everything else. Leaves text unchanged if the list does not end.
 */
export const withoutMerges = (content: Buffer): string => {
  const place = placeOf(content, '"merges"', list);
  return place === undefined
    ? content.toString()
    : content.toString('utf8', 0, place[0]) + content.toString('utf8', place[1]);
};

/**
 * Returns where the content of the first list or object under a key begins and ends; undefined if absent or
 * without an end.
 *
 * @param key with quotes. Quotes inside tokens are escaped, and a token with the key's text has a number as
 *   value
 */
const placeOf = (content: Buffer, key: string, brackets: Brackets): [number, number] | undefined => {
  for (let at = content.indexOf(key); at >= 0; at = content.indexOf(key, at + 1)) {
    const before = /^\s*:\s*[[{]/.exec(
      content.toString('latin1', at + key.length, at + key.length + 64),
    )?.[0];
    if (before?.endsWith(brackets.open) !== true) continue;
    const first = at + key.length + before.length;
    const end = endOf(content, first, brackets);
    return end === undefined ? undefined : [first, end];
  }
  return undefined;
};

/** Yields positions of strings in JSON bytes, quotes included. */
export function* stringsIn(content: Buffer): Generator<readonly [begin: number, end: number]> {
  for (let begin = content.indexOf(quote); begin >= 0; ) {
    const end = endOfString(content, begin);
    yield [begin, end];
    begin = content.indexOf(quote, end);
  }
}

const endOfString = (content: Buffer, begin: number): number => {
  let at = begin + 1;
  while (at < content.length && content[at] !== quote) at += content[at] === backslash ? 2 : 1;
  return at + 1;
};

const endOf = (content: Buffer, first: number, brackets: Brackets): number | undefined => {
  const [open, close] = [brackets.open.charCodeAt(0), brackets.close.charCodeAt(0)];
  let depth = 1;
  for (let at = first; at < content.length; at++) {
    const byte = content[at];
    if (byte === quote) at = endOfString(content, at) - 1;
    else if (byte === open) depth++;
    else if (byte === close && --depth === 0) return at;
  }
  return undefined;
};
