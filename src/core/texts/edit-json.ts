import { randomUUID } from 'node:crypto';
import { keyOf } from './json.js';
import { walkJson } from './walk-json.js';

/** An edit of a key in the outermost object or an object in it; undefined removes the key. */
export interface JsonEdit {
  readonly path: readonly [key: string] | readonly [key: string, inner: string];
  readonly value: unknown;
}

export interface ObjectPlace {
  readonly begin: number;
  readonly end: number;
  /**
   * Offsets, four per property: begin and end of the key, begin and end of the value. Flat, because objects
   * may have a million keys.
   */
  readonly properties: readonly number[];
}

export const objectPlaces = (
  text: string,
  keys: ReadonlySet<string>,
): { readonly root: ObjectPlace | undefined; readonly inner: ReadonlyMap<string, ObjectPlace> } => {
  type Place = { -readonly [Key in keyof ObjectPlace]: ObjectPlace[Key] } & { properties: number[] };
  const open: (Place | undefined)[] = [];
  const inner = new Map<string, Place>();
  let root: Place | undefined;
  let key: string | undefined;
  walkJson(
    text,
    {
      open: (at, isObject) => {
        open.at(-1)?.properties.push(at);
        const isRoot = open.length === 0;
        const isWanted = isObject && (isRoot || (open.length === 1 && key !== undefined && keys.has(key)));
        const place = isWanted ? { begin: at, end: at, properties: [] } : undefined;
        if (isRoot) root = place;
        else if (place !== undefined && key !== undefined) inner.set(key, place);
        open.push(place);
      },
      close: (end) => {
        const place = open.pop();
        if (place !== undefined) place.end = end - 1;
        open.at(-1)?.properties.push(end);
      },
      key: (begin, end) => {
        open.at(-1)?.properties.push(begin, end);
        if (open.length === 1 && keys.size > 0) key = keyOf(text, begin, end);
      },
      scalar: (begin, end) => {
        open.at(-1)?.properties.push(begin, end);
      },
    },
    Number.POSITIVE_INFINITY,
  );
  return { root, inner };
};

/** Returns the text of the value at a path, if it exists. */
export const textAt = (text: string, [key, innerKey]: JsonEdit['path']): string | undefined => {
  const { root, inner } = objectPlaces(text, new Set([key]));
  const { properties = [] } = (innerKey === undefined ? root : inner.get(key)) ?? {};
  for (let at = properties.length - 4; at >= 0; at -= 4) {
    const [keyBegin = 0, keyEnd = 0, begin, end] = properties.slice(at, at + 4);
    if (keyOf(text, keyBegin, keyEnd) === (innerKey ?? key)) return text.slice(begin, end);
  }
  return undefined;
};

/** A number written exactly as spelt. */
export class SpeltNumber {
  readonly spelling: string;

  constructor(spelling: string) {
    this.spelling = spelling;
  }
}

type Piece = readonly [begin: number, end: number, content: string];

/**
 * Changes only the edited values, so that other numbers keep their spelling (`1e-05`, `10000.0`). Takes one
 * pass.
 *
 * @param edits distinct paths, none within another; an inner path is ignored if its key has no object
 */
export const editJson = (text: string, edits: readonly JsonEdit[]): string => {
  const outer = new Map<string, unknown>();
  const within = new Map<string, Map<string, unknown>>();
  for (const { path, value } of edits) {
    const [key, innerKey] = path;
    if (innerKey === undefined) outer.set(key, value);
    else within.set(key, (within.get(key) ?? new Map<string, unknown>()).set(innerKey, value));
  }
  const { root, inner } = objectPlaces(text, new Set(within.keys()));
  if (root === undefined) return text;
  const unit = styleOf(text, root).indent ?? '';
  const pieces = [
    ...changesOf(text, root, outer, unit),
    ...[...inner].flatMap(([key, place]) => changesOf(text, place, within.get(key) ?? new Map(), unit)),
  ].sort(([a], [b]) => a - b);
  const made: string[] = [];
  let from = 0;
  for (const [begin, end, content] of pieces) {
    made.push(text.slice(from, begin), content);
    from = end;
  }
  return [...made, text.slice(from)].join('');
};

interface Style {
  /** White space before the first key; undefined if it is on the same line as `{`. */
  readonly indent: string | undefined;
  /** Text between a comma and the next key; `colon`: text between a key and its value. */
  readonly behindComma: string;
  readonly colon: string;
}

const styleOf = (text: string, { begin, properties }: ObjectPlace): Style => {
  const [keyBegin, keyEnd = 0, valueBegin = 0, , second] = properties;
  if (keyBegin === undefined) return { indent: undefined, behindComma: '', colon: ':' };
  const before = text.slice(begin + 1, keyBegin);
  const newline = before.lastIndexOf('\n');
  const line = before[newline - 1] === '\r' ? newline - 1 : newline;
  const isSpaced = second !== undefined && text[second - 1] === ' ';
  return {
    indent: line < 0 ? undefined : before.slice(line).replace(/^\r?\n/, ''),
    behindComma: line < 0 ? (isSpaced ? ' ' : '') : before.slice(line),
    colon: text.slice(keyEnd, valueBegin),
  };
};

const changesOf = (
  text: string,
  place: ObjectPlace,
  values: ReadonlyMap<string, unknown>,
  unit: string,
): Piece[] => {
  const { properties } = place;
  const style = styleOf(text, place);
  const pieces: Piece[] = [];
  const absent = new Map([...values].filter(([, value]) => value !== undefined));
  let end: number | undefined;
  /** Start of the removed properties before the first kept property. */
  let first: number | undefined;
  for (let at = 0; at < properties.length; at += 4) {
    const [keyBegin, keyEnd, begin, valueEnd] = properties.slice(at, at + 4) as [
      number,
      number,
      number,
      number,
    ];
    const key = keyOf(text, keyBegin, keyEnd);
    const isGone = values.has(key) && values.get(key) === undefined;
    if (isGone && end !== undefined) pieces.push([properties[at - 1] as number, valueEnd, '']);
    else if (isGone) first ??= keyBegin;
    else {
      if (first !== undefined && end === undefined) pieces.push([first, keyBegin, '']);
      end = valueEnd;
      if (absent.delete(key)) pieces.push([begin, valueEnd, spelt(values.get(key), style, unit)]);
    }
  }
  const last = properties.at(-1) ?? place.begin + 1;
  if (first !== undefined && end === undefined)
    pieces.push(absent.size === 0 ? [place.begin + 1, place.end, ''] : [first, last, '']);
  const added = [...absent].map(
    ([key, value]) => `${JSON.stringify(key)}${style.colon}${spelt(value, style, unit)}`,
  );
  if (added.length > 0)
    pieces.push([last, last, [...(end === undefined ? [] : ['']), ...added].join(`,${style.behindComma}`)]);
  return pieces;
};

const spelt = (value: unknown, { indent, behindComma }: Style, unit: string): string => {
  const numbers: string[] = [];
  const mark = randomUUID();
  const json = JSON.stringify(
    value,
    (_key, inner: unknown) => {
      if (!(inner instanceof SpeltNumber)) return inner;
      numbers.push(inner.spelling);
      return mark;
    },
    indent === undefined ? undefined : unit,
  );
  // Indents before inserting values given as text, which keep their line ends.
  const placed = indent === undefined ? json : json.replaceAll('\n', behindComma);
  return numbers.length === 0 ? placed : placed.replaceAll(JSON.stringify(mark), () => numbers.shift() ?? '');
};
