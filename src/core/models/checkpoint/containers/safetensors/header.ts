import { LayerloomError, reasonOf } from '../../../../base/errors/errors.js';
import { isCount } from '../../../../base/is-count.js';
import { compareDtypes, type Dtype, isDtype } from '../../../../tensor/dtype.js';
import { byteLength, elementCount, type Shape } from '../../../../tensor/reference.js';
import { KeyTwice, keyOf, parseJson } from '../../../../texts/json.js';
import { walkJson } from '../../../../texts/walk-json.js';
import { isObject } from '../../files/json.js';
import { checkTensorName } from '../short-name.js';

/** The safetensors library's limit. */
export const maxHeaderBytes = 100_000_000;

/** Bytes of the header's length: a little-endian 64-bit integer. */
export const prefixBytes = 8;

/** A tensor listed in a header. */
export interface HeaderTensor {
  readonly dtype: Dtype;
  readonly shape: Shape;
  /** First byte, relative to the data's start. */
  readonly begin: number;
  readonly end: number;
}

/** A safetensors file's header. */
export interface Header {
  readonly metadata: Readonly<Record<string, string>>;
  readonly tensors: ReadonlyMap<string, HeaderTensor>;
}

/**
 * Returns the header's length.
 *
 * @throws FILE_TOO_SHORT, HEADER_TOO_LARGE, HEADER_TRUNCATED
 */
export const parsePrefix = (prefix: Uint8Array, file: string, fileBytes: number): number => {
  if (fileBytes < prefixBytes) throw new LayerloomError('FILE_TOO_SHORT', { file, bytes: fileBytes });
  const length = new DataView(prefix.buffer, prefix.byteOffset, prefixBytes).getBigUint64(0, true);
  // A length beyond the file's end suggests another format, so the error does not quote the length.
  if (length > maxHeaderBytes)
    throw new LayerloomError(
      'HEADER_TOO_LARGE',
      length > fileBytes ? { file } : { file, bytes: Number(length) },
    );
  const announced = Number(length);
  const available = fileBytes - prefixBytes;
  if (announced > available) throw new LayerloomError('HEADER_TRUNCATED', { file, announced, available });
  return announced;
};

/**
 * Parses a safetensors header (without the prefix) by the safetensors library's rules, and also refuses
 * duplicate names. The data must cover the rest of the file without overlaps or gaps.
 *
 * @param dataBytes bytes of the file after the header
 * @throws HEADER_INVALID, DUPLICATE_TENSOR, UNKNOWN_DTYPE, SHAPE_OVERFLOW, LENGTH_MISMATCH, OFFSETS_INVALID,
 *   FILE_LENGTH_MISMATCH
 */
export const parseHeader = (bytes: Uint8Array, file: string, dataBytes: number): Header => {
  const entries = parseObject(bytes, file);
  const { __metadata__: metadata, ...tensors } = entries;
  const header = {
    metadata: parseMetadata(metadata, file),
    tensors: new Map(Object.entries(tensors).map(([name, entry]) => [name, parseTensor(name, entry, file)])),
  };
  accountForEveryByte(header.tensors, file, dataBytes);
  return header;
};

/** Maximum number of JSON values: enough for 300,000 tensors. */
const mostValues = 8_000_000;

const parseObject = (bytes: Uint8Array, file: string): Record<string, unknown> => {
  const invalidHeader = (reason: string, cause?: unknown) =>
    new LayerloomError('HEADER_INVALID', { file, reason }, { cause });
  let value: unknown;
  try {
    value = parseJson(bytes, { mostValues });
  } catch (cause) {
    const [tensor = '', ...inner] = cause instanceof KeyTwice ? cause.path : [];
    if (cause instanceof KeyTwice && inner.length === 0)
      throw new LayerloomError('DUPLICATE_TENSOR', { file, tensor });
    throw invalidHeader(reasonOf(cause), cause);
  }
  if (!isObject(value)) throw invalidHeader('is not a JSON object');
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString();
  // Shortcut: if JavaScript writes the same text, all numbers are spelt as integers.
  const odd = JSON.stringify(value) === text.trimEnd() ? undefined : oddNumber(text);
  if (odd !== undefined)
    throw invalidHeader(`${odd.join(' → ')} has a number that is not spelt as an integer`);
  return value;
};

/** Returns the path to the first shape or offsets with a number not spelt as an integer (`2.0`, `2e0`). */
const oddNumber = (text: string): readonly string[] | undefined => {
  const keys: string[] = [];
  const open: boolean[] = [];
  let found: readonly string[] | undefined;
  walkJson(
    text,
    {
      open: (_at, isObject) => {
        open.push(isObject);
        if (isObject) keys.push('');
      },
      close: () => {
        if (open.pop() === true) keys.pop();
      },
      key: (begin, end) => {
        keys[keys.length - 1] = keyOf(text, begin, end);
      },
      scalar: (begin, end) => {
        if (found !== undefined || open.at(-1) !== false) return;
        const isOfCounts = keys.at(-1) === 'shape' || keys.at(-1) === 'data_offsets';
        if (isOfCounts && /[.eE-]/.test(text.slice(begin, end))) found = [...keys];
      },
    },
    mostValues,
  );
  return found;
};

const parseMetadata = (value: unknown, file: string): Record<string, string> => {
  if (value === undefined || value === null) return {};
  if (!isObject(value) || !Object.values(value).every((entry) => typeof entry === 'string'))
    throw new LayerloomError('HEADER_INVALID', {
      file,
      tensor: '__metadata__',
      reason: 'values must be strings',
    });
  return value as Record<string, string>;
};

/** torch's own limit. */
const mostDimensions = 64;

const parseTensor = (tensor: string, entry: unknown, file: string): HeaderTensor => {
  const invalidTensor = (reason: string) => new LayerloomError('HEADER_INVALID', { file, tensor, reason });
  checkTensorName(tensor, file);
  if (!isObject(entry)) throw invalidTensor('not an object');
  const { dtype, shape, data_offsets: offsets } = entry;
  if (typeof dtype !== 'string') throw invalidTensor('no dtype');
  if (!Array.isArray(shape) || shape.length > mostDimensions || !shape.every(isCount))
    throw invalidTensor(`shape is not a list of at most ${mostDimensions} counts`);
  if (!Array.isArray(offsets) || offsets.length !== 2 || !offsets.every(isCount))
    throw invalidTensor('data_offsets is not two counts');
  if (!isDtype(dtype)) throw new LayerloomError('UNKNOWN_DTYPE', { file, tensor, dtype });

  const [begin, end] = offsets as [number, number];
  const elements = elementCount(shape);
  const expected = elements === undefined ? undefined : byteLength(dtype, elements);
  if (elements === undefined) throw new LayerloomError('SHAPE_OVERFLOW', { file, tensor, shape });
  if (expected === undefined) throw invalidTensor(`${elements} elements of ${dtype} do not fill whole bytes`);
  if (end < begin)
    throw new LayerloomError('OFFSETS_INVALID', {
      file,
      tensor,
      reason: `it ends (${end}) before it begins (${begin})`,
    });
  if (end - begin !== expected)
    throw new LayerloomError('LENGTH_MISMATCH', { file, tensor, expected, actual: end - begin });
  return { dtype, shape, begin, end };
};

const accountForEveryByte = (
  tensors: ReadonlyMap<string, HeaderTensor>,
  file: string,
  dataBytes: number,
): void => {
  const inOrder = [...tensors].sort(([, a], [, b]) => a.begin - b.begin || a.end - b.end);
  let position = 0;
  for (const [tensor, { begin, end }] of inOrder) {
    if (begin !== position) {
      const reason =
        begin < position
          ? `it overlaps the tensor before it`
          : `${begin - position} bytes before it belong to no tensor`;
      throw new LayerloomError('OFFSETS_INVALID', { file, tensor, reason });
    }
    position = end;
  }
  if (position !== dataBytes)
    throw new LayerloomError('FILE_LENGTH_MISMATCH', { file, expected: position, actual: dataBytes });
};

/** Compares as the safetensors library does: larger dtypes first, which aligns the data, then names. */
export const compareForFile = (
  a: { name: string; dtype: Dtype },
  b: { name: string; dtype: Dtype },
): number => compareDtypes(a.dtype, b.dtype) || (a.name < b.name ? -1 : a.name > b.name ? 1 : 0);

/**
 * Returns prefix and header for these consecutive tensors, padded with spaces to a multiple of eight bytes.
 * PyTorch loaders require the metadata `{"format": "pt"}`.
 */
export const encodeHeader = (
  tensors: Iterable<{ name: string; dtype: Dtype; shape: Shape; bytes: number }>,
  metadata: Readonly<Record<string, string>> = { format: 'pt' },
): Uint8Array => {
  let position = 0;
  const entries = Array.from(tensors, ({ name, dtype, shape, bytes }) => {
    const entry = { dtype, shape, data_offsets: [position, position + bytes] };
    position += bytes;
    return [name, entry] as const;
  });
  const json = Buffer.from(
    JSON.stringify(Object.fromEntries([['__metadata__', metadata] as const, ...entries])),
  );
  const padded = Math.ceil(json.length / 8) * 8;
  const header = Buffer.alloc(prefixBytes + padded, ' ');
  header.writeBigUInt64LE(BigInt(padded));
  json.copy(header, prefixBytes);
  return header;
};
