import { itemAt, keep } from '../../../base/errors/lookup.js';
import { reading } from '../../../base/files/writing.js';
import { bitsOf } from '../../../tensor/dtype.js';
import type { TensorPiece, TensorReference } from '../../../tensor/reference.js';
import type { CheckpointIndex } from '../checkpoint.js';
import type { MissingBytes } from '../descriptions.js';
import { withFewFiles } from '../files/few-at-once.js';
import { type OpenInput, openInput } from '../files/open-input.js';
import { readBlock } from '../files/read-block.js';

/** `unknown` if bytes are not on this machine, or tensors are cut into different pieces. */
export type Sameness = 'same' | 'different' | 'unknown';

const chunkElements = 1 << 20;

/** Results by files and ranges, because one command opens a model several times. */
const compared = new Map<string, Promise<Sameness>>();
const mostCompared = 256;

/**
 * Compares the values of two tensors of a checkpoint. Tensors with the same range are equal without reading;
 * otherwise stops at the first difference.
 *
 * @throws READ_FAILED
 */
export const sameValues = async (
  { files }: Pick<CheckpointIndex, 'files'>,
  a: TensorReference,
  b: TensorReference,
  missingBytes: MissingBytes,
): Promise<Sameness> => {
  if (a.shape.join() !== b.shape.join()) return 'different';
  if (a.pieces !== undefined || b.pieces !== undefined)
    return await samePieces({ files }, a, b, missingBytes);
  if (a.file === b.file && a.begin === b.begin && a.end === b.end && a.dtype === b.dtype) return 'same';
  if (a.dtype !== b.dtype && [a, b].some(({ dtype }) => !(dtype in decoders))) return 'different';
  const places = [a, b].map((tensor) => ({ ...tensor, of: itemAt(files, tensor.file) }));
  for (const { of, begin, end } of places)
    if ((await missingBytes(of.path, [{ begin, end }])).length > 0) return 'unknown';
  const key = JSON.stringify(places.map(({ of, begin, end, dtype }) => [of, begin, end, dtype]));
  const known = compared.get(key);
  if (known !== undefined) return await known;
  const found = compare(places.map(({ of, ...tensor }) => ({ ...tensor, path: of.path })));
  keep(compared, key, found, mostCompared);
  found.catch(() => compared.delete(key));
  return await found;
};

const samePieces = async (
  checkpoint: Pick<CheckpointIndex, 'files'>,
  { pieces: ofA = [], dtype: dtypeA }: TensorReference,
  { pieces: ofB = [], dtype: dtypeB }: TensorReference,
  missingBytes: MissingBytes,
): Promise<Sameness> => {
  const cutOf = (pieces: readonly TensorPiece[]) =>
    JSON.stringify(pieces.map(({ at, sizes }) => [at, sizes]));
  if (cutOf(ofA) !== cutOf(ofB)) return 'unknown';
  for (const [index, { sizes: shape, ...a }] of ofA.entries()) {
    const b = { ...itemAt(ofB, index), dtype: dtypeB, shape };
    const found = await sameValues(checkpoint, { ...a, dtype: dtypeA, shape }, b, missingBytes);
    if (found !== 'same') return found;
  }
  return 'same';
};

type Place = TensorReference & { readonly path: string };

const compare = ([a, b]: readonly Place[]): Promise<Sameness> =>
  withFewFiles(async () => {
    if (a === undefined || b === undefined) throw new RangeError('two tensors are compared');
    await using one = await openToRead(a.path);
    await using other = await openToRead(b.path);
    const sizes = [a, b].map(({ dtype }) => bitsOf(dtype) / 8);
    const [sizeA = 1, sizeB = 1] = sizes;
    const elements = Math.ceil((a.end - a.begin) / sizeA);
    for (let at = 0; at < elements; at += chunkElements) {
      const count = Math.min(chunkElements, elements - at);
      const [inA, inB] = [
        await readElements(one, a, at * sizeA, count * sizeA),
        await readElements(other, b, at * sizeB, count * sizeB),
      ];
      if (a.dtype === b.dtype ? !inA.equals(inB) : differ(decode(a, inA), decode(b, inB))) return 'different';
    }
    return 'same';
  });

const openToRead = (path: string): Promise<OpenInput> => reading(path, () => openInput(path));

const readElements = async (
  file: OpenInput,
  { path, begin, end }: Place,
  from: number,
  bytes: number,
): Promise<Buffer> =>
  reading(path, () => readBlock(file, Buffer.alloc(Math.min(bytes, end - begin - from)), begin + from));

/** Dtypes whose elements a JavaScript number holds exactly, each with a function that reads an element. */
const decoders: Readonly<Record<string, (bytes: DataView, at: number) => number>> = {
  F64: (bytes, at) => bytes.getFloat64(at * 8, true),
  F32: (bytes, at) => bytes.getFloat32(at * 4, true),
  BF16: (bytes, at) => floatOf(bytes.getUint16(at * 2, true) << 16),
  F16: (bytes, at) => halfOf(bytes.getUint16(at * 2, true)),
};

const bits = new DataView(new ArrayBuffer(4));
const floatOf = (pattern: number): number => {
  bits.setInt32(0, pattern);
  return bits.getFloat32(0);
};

const halfOf = (pattern: number): number => {
  const [sign, exponent, fraction] = [pattern & 0x8000 ? -1 : 1, (pattern >> 10) & 31, pattern & 1023];
  if (exponent === 0) return sign * fraction * 2 ** -24;
  if (exponent === 31) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1024 + fraction) * 2 ** (exponent - 25);
};

const decode = ({ dtype }: Place, bytes: Buffer): Float64Array => {
  const read = decoders[dtype];
  if (read === undefined)
    throw new RangeError(`values of ${dtype} are not compared with those of another dtype`);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  return Float64Array.from({ length: Math.floor((bytes.byteLength * 8) / bitsOf(dtype)) }, (_, at) =>
    read(view, at),
  );
};

const differ = (a: Float64Array, b: Float64Array): boolean =>
  a.length !== b.length || a.some((value, at) => !Object.is(value + 0, itemAt(b, at) + 0));
