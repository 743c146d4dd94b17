import { jsonOrNone } from '../../../texts/json.js';

const [quote, backslash, colon, comma, open, close] = [0x22, 0x5c, 0x3a, 0x2c, 0x7b, 0x7d];

const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;

/**
 * Reads a JSON object of ids, `{"token": id, …}`, into a map in text order; undefined for other text.
 * `JSON.parse` takes three times the time and twice the memory.
 */
export const readIds = (text: string): Map<string, number> | undefined => {
  const ids = new Map<string, number>();
  let at = skipSpace(text, 0);
  if (text.charCodeAt(at) !== open) return undefined;
  for (at = skipSpace(text, at + 1); ; at = skipSpace(text, at + 1)) {
    if (text.charCodeAt(at) !== quote) return undefined;
    const end = endOfString(text, at);
    if (end === undefined) return undefined;
    const token = tokenOf(text, at, end);
    at = skipSpace(text, end);
    if (token === undefined || text.charCodeAt(at) !== colon) return undefined;
    number.lastIndex = skipSpace(text, at + 1);
    const found = number.exec(text);
    if (found === null) return undefined;
    ids.set(token, Number(found[0]));
    at = skipSpace(text, number.lastIndex);
    const next = text.charCodeAt(at);
    if (next === close) return skipSpace(text, at + 1) === text.length ? ids : undefined;
    if (next !== comma) return undefined;
  }
};

const skipSpace = (text: string, from: number): number => {
  let at = from;
  for (let code = text.charCodeAt(at); code === 0x20 || (code >= 0x9 && code <= 0xd); ) {
    if (code === 0xb || code === 0xc) return at;
    at += 1;
    code = text.charCodeAt(at);
  }
  return at;
};

const endOfString = (text: string, begin: number): number | undefined => {
  for (let at = text.indexOf('"', begin + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return at + 1;
  }
  return undefined;
};

/** Matches characters that JSON strings must escape. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const isSpecial = /[\u0000-\u001f\\]/;

const tokenOf = (text: string, begin: number, end: number): string | undefined => {
  const raw = text.slice(begin + 1, end - 1);
  if (!isSpecial.test(raw)) return raw;
  const token = jsonOrNone(text.slice(begin, end));
  return typeof token === 'string' ? token : undefined;
};
