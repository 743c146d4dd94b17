import { isUtf8 } from 'node:buffer';
import { itemAt } from '../base/errors/lookup.js';
import { TextRefused } from './text-refused.js';
import { placeIn, walkJson } from './walk-json.js';

export interface JsonReading {
  /** Read Python's `NaN`, `Infinity` and `-Infinity` as strings; default: refused. */
  readonly python?: boolean;
  readonly mostValues?: number | undefined;
}

/** Limits for large files that layerloom wrote, such as plans. Someone may have edited them. */
export const ownFile: JsonReading = { mostValues: 64_000_000 };

/** A duplicate key in an object; readers disagree on which value counts. */
export class KeyTwice extends TextRefused {
  readonly path: readonly string[];

  constructor(path: readonly string[], place: string) {
    super(`has a key twice (${place})`);
    this.path = path;
  }
}

/**
 * Parses JSON in limited time and memory, which are linear in the text.
 *
 * @param source bytes are UTF-8
 * @throws TextRefused, also for duplicate keys
 */
export const parseJson = (
  source: string | Uint8Array,
  { python = false, mostValues }: JsonReading = {},
): unknown => {
  const text = typeof source === 'string' ? source : decodeUtf8(source);
  const words: [begin: number, end: number][] = [];
  let keys = 0;
  walkJson(
    text,
    {
      key: () => {
        keys += 1;
      },
      scalar: (begin, end) => {
        if (/^[-NI]$/.test(text.charAt(begin)) && /[Ny]/.test(text.charAt(end - 1))) words.push([begin, end]);
      },
    },
    mostValues,
  );
  const [word] = words;
  if (word !== undefined && !python) throw new TextRefused(`is not JSON (${placeIn(text, word[0])})`);
  const value: unknown = JSON.parse(quoted(text, words));
  if (keysIn(value) < keys) throw keyTwice(text);
  return value;
};

/** Parses JSON; undefined for refused text, which no schema accepts. */
export const jsonOrNone = (source: string | Uint8Array, reading?: JsonReading): unknown => {
  try {
    return parseJson(source, reading);
  } catch (error) {
    if (error instanceof TextRefused) return undefined;
    throw error;
  }
};

/** @throws TextRefused for bytes that are not UTF-8: replacement characters would change names and numbers */
export const decodeUtf8 = (bytes: Uint8Array): string => {
  if (!isUtf8(bytes)) throw new TextRefused('is not UTF-8');
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
};

const quoted = (text: string, words: readonly [begin: number, end: number][]): string => {
  if (words.length === 0) return text;
  const pieces: string[] = [];
  let from = 0;
  for (const [begin, end] of words) {
    pieces.push(text.slice(from, begin), `"${text.slice(begin, end)}"`);
    from = end;
  }
  return [...pieces, text.slice(from)].join('');
};

const keysIn = (value: unknown): number => {
  let keys = 0;
  const open: unknown[] = [value];
  const add = (inner: unknown): void => {
    if (typeof inner === 'object' && inner !== null) open.push(inner);
  };
  while (open.length > 0) {
    const one = open.pop();
    if (Array.isArray(one)) one.forEach(add);
    else if (typeof one === 'object' && one !== null)
      for (const inner of Object.values(one)) {
        keys += 1;
        add(inner);
      }
  }
  return keys;
};

const keyTwice = (text: string): KeyTwice | undefined => {
  const open: { readonly keys: Set<string> | undefined; last: string }[] = [];
  let found: KeyTwice | undefined;
  walkJson(
    text,
    {
      open: (_at, isObject) => {
        open.push({ keys: isObject ? new Set() : undefined, last: '' });
      },
      close: () => {
        open.pop();
      },
      key: (begin, end) => {
        const object = itemAt(open, open.length - 1);
        object.last = keyOf(text, begin, end);
        if (object.keys?.has(object.last) === true)
          found ??= new KeyTwice(
            open.flatMap(({ keys, last }) => (keys === undefined ? [] : [last])),
            placeIn(text, begin),
          );
        object.keys?.add(object.last);
      },
    },
    Number.POSITIVE_INFINITY,
  );
  return found;
};

/** Returns the key in a range of the text, quotes included. */
export const keyOf = (text: string, begin: number, end: number): string => {
  const key = text.slice(begin, end);
  return key.includes('\\') ? (JSON.parse(key) as string) : key.slice(1, -1);
};
