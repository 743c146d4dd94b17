/** A key of JSON: a token of this text would have its quotes escaped, and in a vocabulary its value is a number. */
const key = '"merges"';
const [quote, backslash, open, close] = [0x22, 0x5c, 0x5b, 0x5d];

/**
 * Returns the text of a `tokenizer.json` with an empty list of merges. They are most of it and say nothing of
 * ids, and parsing them takes several times the time and the memory of all else. A text whose list does not end
 * is returned as it is.
 */
export const withoutMerges = (content: Buffer): string => {
  for (let at = content.indexOf(key); at >= 0; at = content.indexOf(key, at + 1)) {
    const begin = /^\s*:\s*\[/.exec(content.toString('latin1', at + key.length, at + key.length + 64))?.[0];
    if (begin === undefined) continue;
    const first = at + key.length + begin.length;
    const end = endOfList(content, first);
    return end === undefined
      ? content.toString()
      : content.toString('utf8', 0, first) + content.toString('utf8', end);
  }
  return content.toString();
};

/** Returns the place of the bracket that closes a list; undefined where there is none. */
const endOfList = (content: Buffer, first: number): number | undefined => {
  let depth = 1;
  for (let at = first; at < content.length; at++) {
    const byte = content[at];
    if (byte === quote) {
      at++;
      while (at < content.length && content[at] !== quote) at += content[at] === backslash ? 2 : 1;
    } else if (byte === open) depth++;
    else if (byte === close && --depth === 0) return at;
  }
  return undefined;
};
