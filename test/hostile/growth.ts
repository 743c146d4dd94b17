import { assemble } from '../fixtures/checkpoints.js';
import { type Json, pathsIn, withAt } from './mutations.js';

/** A file of any size: what grows in it, and the file with so many more of that. */
export interface Growth {
  readonly label: string;
  readonly of: (count: number) => Buffer;
}

/** The value at a path. */
const valueAt = (document: Json, path: readonly (string | number)[]): Json =>
  path.reduce<Json>((value, key) => (value as Record<string | number, Json>)[key] ?? null, document);

/** A copy of an entry of a list, by another name where entries have names. */
const renamed = (entry: Json, index: number): Json => {
  if (typeof entry === 'string') return `${entry}-${index}`;
  if (entry === null || typeof entry !== 'object' || Array.isArray(entry)) return entry;
  const named = ['name', 'path', 'content', 'key'].filter((key) => typeof entry[key] === 'string');
  return { ...entry, ...Object.fromEntries(named.map((key) => [key, `${String(entry[key])}-${index}`])) };
};

/** A list or an object with `count` entries more, which are like those it has. */
const grown = (value: Json[] | { [key: string]: Json }, count: number): Json => {
  const more = Array.from({ length: count }, (_, index) => index);
  if (Array.isArray(value))
    return [
      ...value,
      ...more.map((index) => renamed(value[index % Math.max(1, value.length)] ?? 'x', index)),
    ];
  const entries = Object.entries(value);
  const copies = more.map((index): [string, Json] => {
    const [key, inner] = entries[index % Math.max(1, entries.length)] ?? ['x', 'x'];
    return [`${key}-${index}`, inner];
  });
  return Object.fromEntries([...entries, ...copies]);
};

/** Each list, each object and each text of a JSON document grows. */
export function* growthsOfJson(text: string): Generator<Growth> {
  const document = JSON.parse(text) as Json;
  for (const path of pathsIn(document)) {
    const value = valueAt(document, path);
    const larger =
      typeof value === 'string'
        ? (count: number): Json => value + 'x-'.repeat(count)
        : value !== null && typeof value === 'object'
          ? (count: number) => grown(value, count)
          : undefined;
    if (larger !== undefined)
      yield {
        label: path.length === 0 ? 'the whole' : path.join('.'),
        of: (count) => Buffer.from(JSON.stringify(withAt(document, path, larger(count)))),
      };
  }
}

/** Each of the last lines of a text is repeated. */
export function* growthsOfLines(text: string): Generator<Growth> {
  const lines = text.trimEnd().split('\n');
  for (const at of [lines.length - 1, lines.length >> 1])
    yield {
      label: `line ${at + 1}`,
      of: (count) =>
        Buffer.from(
          `${[...lines.slice(0, at), ...new Array(count + 1).fill(lines[at]), ...lines.slice(at + 1)].join('\n')}\n`,
        ),
    };
}

/** The header of a file of safetensors grows. */
export function* growthsOfHeader(bytes: Buffer): Generator<Growth> {
  const end = 8 + Number(bytes.readBigUInt64LE());
  for (const { label, of } of growthsOfJson(bytes.subarray(8, end).toString().trimEnd()))
    yield { label: `header: ${label}`, of: (count) => assemble(of(count), bytes.subarray(end)) };
}
