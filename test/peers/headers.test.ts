import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, describe, expect, it } from 'vitest';
import { readerOf } from '../../src/core/models/checkpoint/containers/containers.js';
import { assemble } from '../fixtures/checkpoints.js';
import { generator } from '../fixtures/numbers.js';
import { ofSafetensors } from '../hostile/mutations.js';

const { LAYERLOOM_PYTHON: python, LAYERLOOM_HEADERS: count = '20000' } = process.env;

const root = mkdtempSync(join(tmpdir(), 'layerloom-headers-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const random = generator(11);
const below = (n: number): number => Math.floor(random() * n);
const one = <T>(of: readonly T[]): T => of[below(of.length)] as T;

const bits: Readonly<Record<string, number>> = {
  ...{ BOOL: 8, U8: 8, I8: 8, F8_E4M3: 8, F8_E5M2: 8, F8_E8M0: 8, U16: 16, I16: 16, F16: 16, BF16: 16 },
  ...{ U32: 32, I32: 32, F32: 32, U64: 64, I64: 64, F64: 64, C64: 64, F4: 4, F6_E2M3: 6, F6_E3M2: 6 },
};

const names = [
  'a',
  'b',
  'a.b',
  '',
  '__metadata__',
  '\u00e9',
  '\ud800',
  'constructor',
  '__proto__',
  'x\u0000',
  '10',
  '9',
];

const spelt = (value: number): string =>
  one([
    ...Array.from({ length: 300 }, () => String(value)),
    ...[`${value}.0`, `${value}e0`, `-${value}`, `"${value}"`, `0${value}`, ` ${value} `, `${value + 1}`],
    ...['null', '18446744073709551615', '18446744073709551616', '9007199254740993'],
  ]);

const randomFile = (): Buffer => {
  let position = 0;
  const entries = Array.from({ length: below(5) }, () => {
    const dtype = below(20) === 0 ? one(['f32', 'F128', 'F8', '']) : one(Object.keys(bits));
    const shape = Array.from({ length: below(4) }, () => (below(20) === 0 ? 0 : 1 + below(4)));
    const size = Math.ceil((shape.reduce((a, b) => a * b, 1) * (bits[dtype] ?? 8)) / 8);
    const begin = position + (below(30) === 0 ? one([-1, 1, 8]) : 0);
    const end = begin + size + (below(30) === 0 ? one([-1, 1]) : 0);
    position = Math.max(0, end);
    const fields = [
      `"dtype":${below(40) === 0 ? 'null' : JSON.stringify(dtype)}`,
      `"shape":[${shape.map(spelt).join(',')}]`,
      `"data_offsets":[${spelt(Math.max(0, begin))},${spelt(Math.max(0, end))}${below(60) === 0 ? ',0' : ''}]`,
    ];
    if (below(40) === 0) fields.splice(below(3), 1);
    if (below(40) === 0) fields.push(one(['"more":1', '"shape":[]', '"dtype":"F32"']));
    if (below(3) === 0) fields.reverse();
    return `${JSON.stringify(one(names))}:{${fields.join(',')}}`;
  });
  if (below(2) === 0)
    entries.unshift(
      `"__metadata__":${one(['{"format":"pt"}', '{}', 'null', '{"a":1}', '[]', '""', '{"a":"b","a":"c"}', '{"a":null}'])}`,
    );
  if (below(4) === 0) entries.reverse();
  const text = `${one([...Array.from({ length: 30 }, () => ''), ' ', '\n', '\ufeff'])}{${entries.join(one([',', ',', ', ', ',\n']))}}${one([...Array.from({ length: 30 }, () => ''), ' ', '    ', '\n', '\0', 'x', ','])}`;
  const data = Buffer.from(Array.from({ length: position + (below(20) === 0 ? 1 : 0) }, () => below(256)));
  return assemble(text, data);
};

type Verdict = Record<string, [string, number[], string]> | string;

/** layerloom's reading of a file: its tensors, or its error's code. */
const ours = (bytes: Buffer): Verdict => {
  const reader = readerOf('model.safetensors');
  try {
    let end = 0;
    for (;;) {
      const next = reader.headerEnd(bytes.subarray(0, end), 'model.safetensors', bytes.length);
      if (next <= end) break;
      end = next;
    }
    const { tensors } = reader.parseHeader(bytes.subarray(0, end), 'model.safetensors', bytes.length);
    return Object.fromEntries(
      [...tensors].map(([name, { dtype, shape, begin, end: behind }]) => [
        name,
        [dtype, [...shape], createHash('sha256').update(bytes.subarray(begin, behind)).digest('hex')],
      ]),
    );
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    return / stands twice/.test(message)
      ? 'DUPLICATE_TENSOR'
      : (code ?? `an error without a code: ${message}`);
  }
};

describe.skipIf(!python)('headers of safetensors (LAYERLOOM_PYTHON)', () => {
  it('are read as the reference reads them, or refused as it refuses them', {
    timeout: 600_000,
  }, async () => {
    const sound = assemble(
      '{"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"BF16","shape":[3],"data_offsets":[16,22]}}  ',
      Buffer.alloc(22, 1),
    );
    const files = [
      ...[...ofSafetensors(sound)].map(({ bytes }) => bytes),
      ...Array.from({ length: Number(count) }, randomFile),
    ].filter((bytes) => bytes.length < 1e5);
    const directory = join(root, 'files');
    mkdirSync(directory);
    for (const [index, bytes] of files.entries())
      writeFileSync(join(directory, String(index).padStart(6, '0')), bytes);
    const script = fileURLToPath(new URL('headers.py', import.meta.url));
    const { stdout } = await promisify(execFile)(python ?? '', [script, directory], { maxBuffer: 2 ** 30 });
    const lines = stdout.trimEnd().split('\n');
    expect(lines.length).toBe(files.length);
    const counts: Record<string, number> = {};
    const wrong: string[] = [];
    for (const [index, line] of lines.entries()) {
      const [, theirs, reason] = JSON.parse(line) as [string, Exclude<Verdict, string> | null, string];
      const own = ours(files[index] ?? Buffer.alloc(0));
      const kind =
        theirs === null
          ? typeof own === 'string'
            ? 'both refuse'
            : `refused by the reference alone: ${reason}`
          : typeof own === 'string'
            ? `read by the reference alone: ${own}`
            : JSON.stringify(sorted(own)) === JSON.stringify(sorted(theirs))
              ? 'both read the same'
              : 'both read, and differ';
      counts[kind] = (counts[kind] ?? 0) + 1;
      // The reference does not define which of two equal names it takes; and no tensor has counts above 2^53.
      const isMeant =
        own === 'DUPLICATE_TENSOR' ||
        (own === 'HEADER_INVALID' && /18446744073709551615|9007199254740993/.test(String(files[index])));
      if (!kind.startsWith('both ') || kind.endsWith('differ'))
        if (!isMeant && wrong.length < 20)
          wrong.push(`${kind}: ${files[index]?.subarray(8, 400).toString()}`);
    }
    console.log(counts);
    expect(wrong).toEqual([]);
  });
});

const sorted = (tensors: Exclude<Verdict, string>) =>
  Object.entries(tensors).sort(([one], [other]) => (one < other ? -1 : 1));
