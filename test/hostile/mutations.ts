import { assemble } from '../fixtures/checkpoints.js';
import { generator } from '../fixtures/numbers.js';

export interface Mutation {
  readonly label: string;
  readonly bytes: Buffer;
}

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

const strange: readonly Json[] = [
  null,
  true,
  -1,
  0.5,
  1e308,
  2 ** 53,
  '',
  'x',
  '\u001b[2J\n\u202e',
  '../../../../etc/passwd',
  '/dev/zero',
  'constructor',
  [],
  [null],
  [[]],
  {},
  { '': 1 },
  { toString: 'x' },
];

type Path = readonly (string | number)[];

export function* pathsIn(value: Json, path: Path = []): Generator<Path> {
  yield path;
  if (value === null || typeof value !== 'object') return;
  for (const [key, inner] of Object.entries(value))
    yield* pathsIn(inner, [...path, Array.isArray(value) ? Number(key) : key]);
}

export const withAt = (value: Json, [first, ...rest]: Path, other: Json | undefined): Json | undefined => {
  if (first === undefined) return other;
  if (Array.isArray(value))
    return value.flatMap((inner, index) => {
      const changed = index === first ? withAt(inner, rest, other) : inner;
      return changed === undefined ? [] : [changed];
    });
  return Object.fromEntries(
    Object.entries(value as { [key: string]: Json }).flatMap(([key, inner]) => {
      const changed = key === first ? withAt(inner, rest, other) : inner;
      return changed === undefined ? [] : [[key, changed]];
    }),
  );
};

const wholeTexts = (text: string): Mutation[] => {
  const of = (label: string, bytes: string | Buffer): Mutation => ({ label, bytes: Buffer.from(bytes) });
  const middle = Math.floor(text.length / 2);
  return [
    of('nothing', ''),
    of('spaces', ' \n\t'),
    of('half of it', text.slice(0, middle)),
    of('twice', text + text),
    of('NUL in it', `${text.slice(0, middle)}\0${text.slice(middle)}`),
    of(
      'no UTF-8',
      Buffer.concat([
        Buffer.from(text.slice(0, middle)),
        Buffer.from([0xff, 0xc0]),
        Buffer.from(text.slice(middle)),
      ]),
    ),
    of('UTF-16', Buffer.from(`\ufeff${text}`, 'utf16le')),
    of('lists without end', '['.repeat(200_000)),
    of('objects without end', '{"a":'.repeat(100_000)),
    of('a number of a million digits', '9'.repeat(1_000_000)),
    of('zeros', Buffer.alloc(4096)),
  ];
};

/**
 * Mutations of a JSON document, or YAML written as JSON: each value is replaced by each strange value, or removed; also
 * whole texts.
 */
export function* ofJson(text: string): Generator<Mutation> {
  yield* wholeTexts(text);
  const document = JSON.parse(text) as Json;
  for (const path of pathsIn(document)) {
    const place = path.length === 0 ? 'the whole' : path.join('.');
    for (const other of strange)
      yield {
        label: `${place} is ${JSON.stringify(other)}`,
        bytes: Buffer.from(JSON.stringify(withAt(document, path, other))),
      };
    if (path.length > 0)
      yield {
        label: `${place} is left out`,
        bytes: Buffer.from(JSON.stringify(withAt(document, path, undefined))),
      };
  }
}

export function* ofLines(text: string): Generator<Mutation> {
  yield* wholeTexts(text);
  const [first = '', ...rest] = text.split('\n');
  for (const { label, bytes } of ofJson(first))
    yield { label: `line 1: ${label}`, bytes: Buffer.from([bytes.toString(), ...rest].join('\n')) };
}

export function* ofSafetensors(bytes: Buffer): Generator<Mutation> {
  const length = Number(bytes.readBigUInt64LE());
  const data = bytes.subarray(8 + length);
  for (const { label, bytes: header } of ofJson(
    bytes
      .subarray(8, 8 + length)
      .toString()
      .trimEnd(),
  ))
    yield { label: `header: ${label}`, bytes: assemble(header, data) };
  for (const claimed of [
    0n,
    1n,
    BigInt(length) - 1n,
    BigInt(length) + 1n,
    2n ** 31n,
    2n ** 53n,
    2n ** 64n - 1n,
  ]) {
    const changed = Buffer.from(bytes);
    changed.writeBigUInt64LE(claimed);
    yield { label: `a header of ${claimed} bytes`, bytes: changed };
  }
  yield* ofBytes(bytes, 0);
}

export function* ofBytes(bytes: Buffer, changes = 300): Generator<Mutation> {
  for (const share of [0, 0.01, 0.1, 0.5, 0.9, 0.999])
    yield { label: `cut at ${share}`, bytes: bytes.subarray(0, Math.floor(bytes.length * share)) };
  yield { label: 'a byte more', bytes: Buffer.concat([bytes, Buffer.alloc(1)]) };
  const random = generator(7);
  for (let index = 0; index < changes; index += 1) {
    const changed = Buffer.from(bytes);
    const places = Array.from({ length: 1 + Math.floor(random() * 3) }, () =>
      Math.floor(random() * Math.min(bytes.length, 4096)),
    );
    for (const place of places) changed[place] = [0, 1, 127, 128, 255][Math.floor(random() * 5)] ?? 0;
    yield { label: `${index}: bytes ${places.join(', ')} changed`, bytes: changed };
  }
}
