import { TextRefused } from './text-refused.js';

/** Maximum nesting, as in Python's reader, so that recursive code does not overflow its stack. */
const deepest = 1000;

/** Maximum values: twice as many as any configuration, token list or index has. */
const usualValues = 2_000_000;

/** A key counts as this many values, because keys take longer to read. */
const valuesOfKey = 6;

/** Positions are offsets in the text. Brackets and quotes belong to their values. */
export interface JsonEvents {
  open?(at: number, isObject: boolean): void;
  close?(end: number): void;
  key?(begin: number, end: number): void;
  scalar?(begin: number, end: number): void;
}

const words = ['true', 'false', 'null', 'NaN', 'Infinity', '-Infinity'];

const isDigit = (code: number): boolean => code >= 0x30 && code <= 0x39;
const isHexDigit = (code: number): boolean =>
  isDigit(code) || ((code | 0x20) >= 0x61 && (code | 0x20) <= 0x66);

/**
 * Walks JSON without recursion. Accepts `NaN`, `Infinity` and `-Infinity`, as Python writes them.
 *
 * @throws TextRefused at the first fault, and beyond the limits
 */
export const walkJson = (text: string, events: JsonEvents = {}, mostValues = usualValues): void => {
  const isObject: boolean[] = [];
  let at = 0;
  let values = 0;
  let keysLeft = Math.ceil(mostValues / valuesOfKey);
  const skipSpace = (): number => {
    let code = text.charCodeAt(at);
    while (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09) {
      at += 1;
      code = text.charCodeAt(at);
    }
    return code;
  };
  const refuse = (): never => {
    throw new TextRefused(`is not JSON (${placeIn(text, at)})`);
  };
  const string = (): void => {
    for (at += 1; ; at += 1) {
      const code = text.charCodeAt(at);
      if (code === 0x22) break;
      if (code === 0x5c) escaped();
      else if (!(code >= 0x20)) refuse();
    }
    at += 1;
  };
  const escaped = (): void => {
    at += 1;
    if (text.charCodeAt(at) !== 0x75) {
      if (!'"\\/bfnrt'.includes(text.charAt(at) || ' ')) refuse();
      return;
    }
    for (const end = at + 4; at < end; ) {
      at += 1;
      if (!isHexDigit(text.charCodeAt(at))) refuse();
    }
  };
  const digits = (): void => {
    const begin = at;
    while (isDigit(text.charCodeAt(at))) at += 1;
    if (at === begin) refuse();
  };
  const number = (): void => {
    if (text.charCodeAt(at) === 0x2d) at += 1;
    if (text.charCodeAt(at) === 0x30) at += 1;
    else digits();
    if (text.charCodeAt(at) === 0x2e) {
      at += 1;
      digits();
    }
    if ((text.charCodeAt(at) | 0x20) !== 0x65) return;
    at += 1;
    const sign = text.charCodeAt(at);
    if (sign === 0x2b || sign === 0x2d) at += 1;
    digits();
  };
  const word = (): boolean => {
    const found = words.find((one) => text.startsWith(one, at));
    at += found?.length ?? 0;
    return found !== undefined;
  };
  const key = (): void => {
    if (skipSpace() !== 0x22) refuse();
    if (keysLeft === 0) throw new TextRefused(`has more than ${Math.ceil(mostValues / valuesOfKey)} keys`);
    keysLeft -= 1;
    const begin = at;
    string();
    events.key?.(begin, at);
    if (skipSpace() !== 0x3a) refuse();
    at += 1;
  };
  const value = (): boolean => {
    values += 1;
    if (values > mostValues) throw new TextRefused(`has more than ${mostValues} values`);
    const code = skipSpace();
    const begin = at;
    if (code === 0x7b || code === 0x5b) {
      const opens = code === 0x7b;
      if (isObject.length >= deepest) throw new TextRefused(`is nested more than ${deepest} deep`);
      events.open?.(at, opens);
      at += 1;
      if (skipSpace() === (opens ? 0x7d : 0x5d)) {
        at += 1;
        events.close?.(at);
        return true;
      }
      isObject.push(opens);
      if (opens) key();
      return false;
    }
    if (code === 0x22) string();
    else if (isDigit(code) || !word()) number();
    events.scalar?.(begin, at);
    return true;
  };

  while (!value());
  while (isObject.length > 0) {
    const inObject = isObject[isObject.length - 1] === true;
    const code = skipSpace();
    if (code === 0x2c) {
      at += 1;
      if (inObject) key();
      while (!value());
    } else if (code === (inObject ? 0x7d : 0x5d)) {
      at += 1;
      isObject.pop();
      events.close?.(at);
    } else refuse();
  }
  skipSpace();
  if (at < text.length) refuse();
};

/** Returns line and column, from 1. */
export const placeIn = (text: string, at: number): string => {
  let line = 1;
  let begin = 0;
  for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', begin)) {
    line += 1;
    begin = end + 1;
  }
  return `line ${line}, column ${at - begin + 1}`;
};
