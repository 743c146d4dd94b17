import { createHash } from 'node:crypto';
import type { FileHandle } from 'node:fs/promises';
import * as z from 'zod';
import { itemAt, ownValue } from '../../../core/base/errors/lookup.js';
import { bitsOf } from '../../../core/tensor/dtype.js';
import { chunkBytes, FilesToRead, hashRanges, type Range, sampledRanges } from '../data/local/file-ranges.js';
import type { ComparedShare } from '../evaluation-block.js';
import type { TensorToLoad } from './weights-to-load.js';

const boxSchema = z.array(z.tuple([z.int().nonnegative(), z.int().nonnegative()]));

export const partSchema = z.object({
  /** Part's begin and end in each dimension of the tensor. */
  box: boxSchema,
  /** Columns of the box in hashed order; undefined if rows are hashed. */
  columns: z.array(z.int().nonnegative()).optional(),
  /** Number of equally spaced samples of 1024 elements; undefined if all elements are hashed. */
  samples: z.int().min(2).max(1024).optional(),
  sha256: z.string(),
});

export type PartHeld = z.infer<typeof partSchema>;
type Box = z.infer<typeof boxSchema>;

const sizeOf = (box: Box): number => box.reduce((product, [begin, end]) => product * (end - begin), 1);

const isWithin = (box: Box, { shape }: TensorToLoad): boolean =>
  box.length === shape.length &&
  box.every(([begin, end], dimension) => begin < end && end <= (shape[dimension] ?? 0));

const isWhole = ({ box, columns, samples }: PartHeld): boolean => {
  const [begin, end] = box[1] ?? [0, 0];
  return samples === undefined && (columns === undefined || new Set(columns).size === end - begin);
};

/** Most parts of a tensor, more than any server has workers. */
const mostParts = 1024;

const isApart = (a: Box, b: Box): boolean =>
  a.some(([begin, end], dimension) => {
    const [otherBegin, otherEnd] = itemAt(b, dimension);
    return end <= otherBegin || otherEnd <= begin;
  });

/** True if boxes are pairwise equal or disjoint, and together cover the tensor. */
const cover = (boxes: readonly Box[], { shape }: TensorToLoad): boolean => {
  const different = new Map(boxes.map((box) => [JSON.stringify(box), box]));
  const each = [...different.values()];
  if (each.some((box, index) => each.slice(0, index).some((other) => !isApart(box, other)))) return false;
  const held = [...different.values()].reduce((sum, box) => sum + sizeOf(box), 0);
  return held === shape.reduce((product, size) => product * size, 1);
};

const rangesOf = ({ begin, shape, dtype }: TensorToLoad, box: Box): Range[] => {
  const bytes = bitsOf(dtype) / 8;
  let ranges: Range[] = [[begin, begin + bytes]];
  // Begins with the last dimension: a range that covers it is contiguous.
  let stride = bytes;
  for (let dimension = shape.length - 1; dimension >= 0; dimension -= 1) {
    const [first, last] = itemAt(box, dimension);
    const [only] = ranges;
    const isOne = ranges.length === 1 && only !== undefined && only[1] - only[0] === stride;
    ranges = isOne
      ? [[only[0] + first * stride, only[0] + last * stride]]
      : Array.from({ length: last - first }, (_, index) => (first + index) * stride).flatMap((offset) =>
          ranges.map(([from, to]): Range => [from + offset, to + offset]),
        );
    stride *= itemAt(shape, dimension);
  }
  return ranges;
};

/** Hashes columns of a two-dimensional box in order, with −0 as 0. */
const hashColumns = async (
  handle: FileHandle,
  tensor: TensorToLoad,
  box: Box,
  columns: readonly number[],
): Promise<string> => {
  const bytes = bitsOf(tensor.dtype) / 8;
  const [rows, width] = [itemAt(box, 0), itemAt(tensor.shape, 1)];
  const count = rows[1] - rows[0];
  const picked = Buffer.alloc(columns.length * count * bytes);
  const row = width * bytes;
  const rowsAtOnce = Math.max(1, Math.floor(chunkBytes / row));
  const chunk = Buffer.allocUnsafe(rowsAtOnce * row);
  for (let first = 0; first < count; first += rowsAtOnce) {
    const size = Math.min(rowsAtOnce, count - first) * row;
    const from = tensor.begin + (rows[0] + first) * row;
    for (let filled = 0; filled < size; ) {
      const { bytesRead } = await handle.read(chunk, filled, size - filled, from + filled);
      if (bytesRead === 0) throw new Error(`the file ends at byte ${from + filled}, before ${from + size}`);
      filled += bytesRead;
    }
    for (const [index, column] of columns.entries())
      for (let at = 0; at < size / row; at += 1)
        copyElement(chunk, at * row + column * bytes, picked, (index * count + first + at) * bytes, bytes);
  }
  return createHash('sha256').update(picked).digest('hex');
};

/** Copies an element of two or four bytes; −0 becomes 0. */
const copyElement = (from: Buffer, at: number, to: Buffer, place: number, bytes: number): void => {
  if (bytes === 2) {
    const bits = from.readUInt16LE(at);
    to.writeUInt16LE(bits === 0x8000 ? 0 : bits, place);
  } else {
    const bits = from.readUInt32LE(at);
    to.writeUInt32LE(bits === 0x80000000 ? 0 : bits, place);
  }
};

/** Compares hashes from the workers with the files. Hashes each part of a file once. */
export class TensorShardHashes {
  readonly #hashes = new Map<string, string>();

  /**
   * Returns tensors that differ from the files, or that no workers hold completely.
   *
   * @param asked `whole` rejects sampled hashes
   * @throws READ_FAILED
   */
  async differing(
    weights: readonly TensorToLoad[],
    workers: readonly Readonly<Record<string, readonly PartHeld[]>>[],
    asked: ComparedShare,
  ): Promise<string[]> {
    await using files = new FilesToRead();
    const differing: string[] = [];
    for (const tensor of weights) {
      const parts = workers.flatMap((said) => ownValue(said, tensor.name) ?? []);
      const boxes = parts.map(({ box }) => box);
      let isSame =
        boxes.length <= mostParts && boxes.every((box) => isWithin(box, tensor)) && cover(boxes, tensor);
      if (asked === 'whole') isSame &&= parts.every(isWhole);
      for (const part of parts) isSame &&= (await this.#hashOf(part, tensor, files)) === part.sha256;
      if (!isSame) differing.push(tensor.name);
    }
    return differing;
  }

  async #hashOf(
    { box, columns, samples }: PartHeld,
    tensor: TensorToLoad,
    files: FilesToRead,
  ): Promise<string | undefined> {
    const of = JSON.stringify([tensor.key, tensor.shape, tensor.dtype, box, columns, samples]);
    const known = this.#hashes.get(of);
    if (known !== undefined) return known;
    const bytes = bitsOf(tensor.dtype) / 8;
    let hash: string;
    if (columns !== undefined) {
      const width = tensor.shape[1] ?? 0;
      const isAsked = columns.every((column) => column < width) && new Set(columns).size === columns.length;
      if (tensor.shape.length !== 2 || columns.length === 0 || !isAsked || ![2, 4].includes(bytes))
        return undefined;
      hash = await files.read(tensor.file, (handle) => hashColumns(handle, tensor, box, columns));
    } else {
      const ranges = rangesOf(tensor, box);
      const hashed = samples === undefined ? ranges : sampledRanges(ranges, samples, bytes);
      hash = await files.read(tensor.file, (handle) => hashRanges(handle, hashed));
    }
    this.#hashes.set(of, hash);
    return hash;
  }
}
