import { jsonOrNone } from '../../checkpoint/json.js';

const [quote, backslash, colon, comma, open, close, zero] = [0x22, 0x5c, 0x3a, 0x2c, 0x7b, 0x7d, 0x30];

/** Nine digits are a whole number in float64, and more than any id has. */
const mostDigits = 9;

/**
 * Reads the text of an object of ids, `{"token": id, …}`, straight into a map, in the text's order: an object of a hundred
 * thousand keys takes three times the time and twice the memory. Undefined for a text that is no such object, or has a
 * number that is not spelt as an id: JSON's own parser says what it is.
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
    const first = skipSpace(text, at + 1);
    let id = 0;
    for (at = first; at - first <= mostDigits; at += 1) {
      const digit = text.charCodeAt(at) - zero;
      if (!(digit >= 0 && digit <= 9)) break;
      id = id * 10 + digit;
    }
    const digits = at - first;
    if (digits === 0 || digits > mostDigits || (digits > 1 && text.charCodeAt(first) === zero))
      return undefined;
    ids.set(token, id);
    at = skipSpace(text, at);
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

/** Returns the place behind the quote that ends a string, which begins with one. */
const endOfString = (text: string, begin: number): number | undefined => {
  for (let at = text.indexOf('"', begin + 1); at >= 0; at = text.indexOf('"', at + 1)) {
    let escapes = 0;
    while (text.charCodeAt(at - 1 - escapes) === backslash) escapes += 1;
    if (escapes % 2 === 0) return at + 1;
  }
  return undefined;
};

/** Matches what JSON has escaped in strings. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const isSpecial = /[\u0000-\u001f\\]/;

const tokenOf = (text: string, begin: number, end: number): string | undefined => {
  const raw = text.slice(begin + 1, end - 1);
  if (!isSpecial.test(raw)) return raw;
  const token = jsonOrNone(text.slice(begin, end));
  return typeof token === 'string' ? token : undefined;
};
