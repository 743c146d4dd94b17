import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import {
  compareForFile,
  encodeHeader,
  parseHeader,
  parsePrefix,
  prefixBytes,
} from '../../src/core/models/checkpoint/containers/safetensors/header.js';
import { bitsOf, type Dtype, isDtype } from '../../src/core/tensor/dtype.js';

const parse = (header: unknown, dataBytes = 0) =>
  parseHeader(
    Buffer.from(typeof header === 'string' ? header : JSON.stringify(header)),
    'a.safetensors',
    dataBytes,
  );

const tensor = (dtype: string, shape: unknown, begin: number, end: number) => ({
  dtype,
  shape,
  data_offsets: [begin, end],
});

const codeOf = (action: () => unknown): string => {
  try {
    action();
  } catch (error) {
    if (error instanceof LayerloomError) return error.code;
    throw error;
  }
  return 'accepted';
};

const dtypes = [
  'BOOL',
  'F4',
  'F6_E2M3',
  'U8',
  'F8_E4M3',
  'I16',
  'F16',
  'BF16',
  'I32',
  'F32',
  'C64',
  'F64',
  'U64',
].filter(isDtype);

const someTensors = fc.uniqueArray(
  fc
    .record({
      name: fc
        .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
        .filter((name) => name !== '__metadata__' && name.isWellFormed()),
      dtype: fc.constantFrom(...dtypes),
      shape: fc.array(fc.nat(5), { maxLength: 3 }),
    })
    .map(({ name, dtype, shape }) => {
      const whole = bitsOf(dtype) < 8 ? [...shape, 4] : shape;
      return { name, dtype, shape: whole, bytes: (whole.reduce((a, b) => a * b, 1) * bitsOf(dtype)) / 8 };
    }),
  { selector: ({ name }) => name, maxLength: 8 },
);

describe('a header', () => {
  it('reads back as it was written, and starts data at a multiple of eight bytes', () => {
    fc.assert(
      fc.property(someTensors, (tensors) => {
        const encoded = encodeHeader(tensors);
        const length = parsePrefix(encoded, 'a', encoded.length);
        expect(encoded.length).toBe(prefixBytes + length);
        expect(encoded.length % 8).toBe(0);
        const total = tensors.reduce((sum, { bytes }) => sum + bytes, 0);
        const { metadata, tensors: read } = parseHeader(encoded.subarray(prefixBytes), 'a', total);
        expect(metadata).toEqual({ format: 'pt' });
        expect(new Map([...read].map(([name, { dtype, shape }]) => [name, { dtype, shape }]))).toEqual(
          new Map(tensors.map(({ name, dtype, shape }) => [name, { dtype, shape }])),
        );
      }),
    );
  });

  it('is refused with a code, whatever its bytes, or accounts for every byte', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.json().map((text) => Buffer.from(text)),
      fc.tuple(someTensors, fc.nat(), fc.nat(255)).map(([tensors, at, byte]) => {
        const encoded = encodeHeader(tensors).slice(prefixBytes);
        encoded[at % encoded.length] = byte;
        return encoded;
      }),
    );
    fc.assert(
      fc.property(bytes, fc.nat(400), (header, dataBytes) => {
        try {
          const { tensors } = parseHeader(header, 'a', dataBytes);
          const sum = [...tensors.values()].reduce((total, { begin, end }) => total + end - begin, 0);
          expect(sum).toBe(dataBytes);
        } catch (error) {
          expect(error).toBeInstanceOf(LayerloomError);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('may begin with white space and end with padding', () => {
    expect(
      parse(' \n{"a": {"dtype": "F32", "shape": [], "data_offsets": [0, 4]}}   ', 4).tensors.get('a'),
    ).toEqual({
      dtype: 'F32',
      shape: [],
      begin: 0,
      end: 4,
    });
  });

  it('may hold tensors without elements, whatever their other extents, and none at all', () => {
    expect(parse({ a: tensor('F32', [2 ** 40, 2 ** 20, 0], 0, 0) }).tensors.size).toBe(1);
    expect(parse({ a: tensor('F32', [0, 7], 0, 0), b: tensor('I8', [3], 0, 3) }, 3).tensors.size).toBe(2);
    expect(parse({}).tensors.size).toBe(0);
  });

  it('may list tensors in another order than that of their data', () => {
    expect(parse({ b: tensor('I8', [3], 2, 5), a: tensor('I16', [1], 0, 2) }, 5).tensors.size).toBe(2);
  });

  it('takes a name that JavaScript objects have of their own', () => {
    expect([
      ...parse('{"__proto__":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}}', 1).tensors.keys(),
    ]).toEqual(['__proto__']);
  });

  it.each<[string, unknown, number, string]>([
    ['is not JSON', '{', 0, 'HEADER_INVALID'],
    ['begins with a byte order mark', '\ufeff{}', 0, 'HEADER_INVALID'],
    ['is no object', '[]', 0, 'HEADER_INVALID'],
    ['is nested without end', `{"a":${'['.repeat(200_000)}`, 0, 'HEADER_INVALID'],
    ['has metadata that are no strings', { __metadata__: { a: 1 } }, 0, 'HEADER_INVALID'],
    ['has an entry that is no object', { a: 1 }, 0, 'HEADER_INVALID'],
    ['has no dtype', { a: { shape: [], data_offsets: [0, 0] } }, 0, 'HEADER_INVALID'],
    ['has a negative extent', { a: tensor('I8', [-1], 0, 1) }, 1, 'HEADER_INVALID'],
    ['has a fractional extent', { a: tensor('I8', [1.5], 0, 1) }, 1, 'HEADER_INVALID'],
    [
      'has an extent spelt as a fraction',
      '{"a": {"dtype": "I8", "shape": [1.0], "data_offsets": [0, 1]}}',
      1,
      'HEADER_INVALID',
    ],
    [
      'has an offset spelt with an exponent',
      '{"a": {"dtype": "I8", "shape": [1], "data_offsets": [0, 1e0]}}',
      1,
      'HEADER_INVALID',
    ],
    ['has three offsets', { a: { dtype: 'I8', shape: [1], data_offsets: [0, 1, 2] } }, 1, 'HEADER_INVALID'],
    [
      'has a name with half a surrogate pair',
      '{"\\ud800": {"dtype": "I8", "shape": [1], "data_offsets": [0, 1]}}',
      1,
      'HEADER_INVALID',
    ],
    ['has sub-byte elements that end within a byte', { a: tensor('F4', [3], 0, 1) }, 1, 'HEADER_INVALID'],
    [
      'names a key of a tensor twice',
      '{"a": {"dtype": "I8", "dtype": "U8", "shape": [1], "data_offsets": [0, 1]}}',
      1,
      'HEADER_INVALID',
    ],
    [
      'names a tensor twice',
      '{"a": {"dtype": "I8", "shape": [0], "data_offsets": [0, 0]}, "a": {"dtype": "I8", "shape": [0], "data_offsets": [0, 0]}}',
      0,
      'DUPLICATE_TENSOR',
    ],
    ['has an unknown dtype', { a: tensor('F128', [1], 0, 16) }, 16, 'UNKNOWN_DTYPE'],
    [
      'has more elements than can be counted',
      { a: tensor('I8', [2 ** 40, 2 ** 40], 0, 1) },
      1,
      'SHAPE_OVERFLOW',
    ],
    [
      'has offsets of another length than shape and dtype',
      { a: tensor('F32', [2], 0, 4) },
      4,
      'LENGTH_MISMATCH',
    ],
    ['ends a tensor before its beginning', { a: tensor('I8', [0], 4, 3) }, 4, 'OFFSETS_INVALID'],
    ['overlaps', { a: tensor('I8', [2], 0, 2), b: tensor('I8', [2], 1, 3) }, 3, 'OFFSETS_INVALID'],
    ['leaves a hole', { a: tensor('I8', [2], 0, 2), b: tensor('I8', [2], 3, 5) }, 5, 'OFFSETS_INVALID'],
    ['does not start at the data’s start', { a: tensor('I8', [2], 1, 3) }, 3, 'OFFSETS_INVALID'],
    ['ends before the file', { a: tensor('I8', [2], 0, 2) }, 3, 'FILE_LENGTH_MISMATCH'],
    ['ends behind the file', { a: tensor('I8', [2], 0, 2) }, 1, 'FILE_LENGTH_MISMATCH'],
  ])('is refused when it %s', (_, header, dataBytes, code) => {
    expect(codeOf(() => parse(header, dataBytes))).toBe(code);
  });

  it('is refused when it is not UTF-8', () => {
    expect(codeOf(() => parseHeader(Uint8Array.from([0x7b, 0xff, 0x7d]), 'a', 0))).toBe('HEADER_INVALID');
  });

  it('names file and tensor in its refusal', () => {
    expect(() => parse({ 'model.norm.weight': tensor('F32', [2], 0, 4) }, 4)).toThrow(
      /a\.safetensors.*model\.norm\.weight/,
    );
  });
});

describe('the prefix', () => {
  const prefix = (length: bigint) => {
    const bytes = Buffer.alloc(8);
    bytes.writeBigUInt64LE(length);
    return bytes;
  };

  it.each<[string, bigint, number, string]>([
    ['a file of seven bytes', 0n, 7, 'FILE_TOO_SHORT'],
    ['a header beyond what the reference reads', 100_000_001n, 10 ** 9, 'HEADER_TOO_LARGE'],
    ['a header of 2⁶⁴ − 1 bytes', 2n ** 64n - 1n, 100, 'HEADER_TOO_LARGE'],
    ['a header longer than the file', 93n, 100, 'HEADER_TRUNCATED'],
    ['a header as long as the file', 92n, 100, 'accepted'],
  ])('decides about %s', (_, length, fileBytes, code) => {
    expect(codeOf(() => parsePrefix(prefix(length), 'a', fileBytes))).toBe(code);
  });
});

describe('the order of a file', () => {
  it('is that of the reference writer: later dtypes first, then names', () => {
    const named = (name: string, dtype: Dtype) => ({ name, dtype });
    const sorted = [
      named('b', 'BF16'),
      named('a', 'BF16'),
      named('c', 'F32'),
      named('d', 'I64'),
      named('e', 'U8'),
      named('f', 'F16'),
    ].sort(compareForFile);
    expect(sorted.map(({ name }) => name).join('')).toBe('dcabfe');
  });
});
