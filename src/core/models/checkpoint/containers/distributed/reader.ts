import { stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { LayerloomError } from '../../../../base/errors/errors.js';
import { groupBy, keep } from '../../../../base/errors/lookup.js';
import { reading } from '../../../../base/files/writing.js';
import { readSideFile } from '../../files/small-file.js';
import { collectedHeader, ofCollected } from '../collected.js';
import type { ContainerReader, TensorInFile } from '../container-reader.js';
import { short } from '../short-name.js';
import { readPickle } from '../torch/pickle.js';
import { readTorchZip } from '../torch/reader.js';
import { unsupported } from '../torch/refusals.js';
import { place } from '../torch/state-dict.js';
import { isTensor } from '../torch/values.js';
import type { ReadRange } from '../torch/zip.js';
import { extension, metadataName, type PlacedPiece, parseMetadata, pieceName } from './metadata.js';

type PiecesByFile = ReadonlyMap<string, readonly PlacedPiece[]>;

const parsed = new Map<string, Promise<PiecesByFile>>();
const mostParsed = 8;

/** Returns the pieces in a file. The `.metadata` of many files is parsed once. */
const piecesIn = async (file: string): Promise<readonly PlacedPiece[]> => {
  const path = join(dirname(file), metadataName);
  const { size, mtimeNs, ctimeNs, ino } = await reading(path, () => stat(path, { bigint: true }));
  const key = [path, size, mtimeNs, ctimeNs, ino].join('\n');
  const known = parsed.get(key);
  if (known !== undefined) return (await known).get(basename(file)) ?? [];
  const found = readSideFile(path).then((bytes) =>
    groupBy(parseMetadata(bytes, path), (piece) => piece.file),
  );
  keep(parsed, key, found, mostParsed);
  found.catch(() => parsed.delete(key));
  return (await found).get(basename(file)) ?? [];
};

/** Bytes to read at once from a stream's start and end, which have the pickle and the zip's directory. */
const [startBytes, endBytes] = [2048, 1024];

/** Returns a reader of a stream that reads the file only a few times. */
const within = async (read: ReadRange, { offset, length }: PlacedPiece): Promise<ReadRange> => {
  const startEnd = Math.min(length, startBytes);
  const endBegin = Math.max(0, length - endBytes);
  const start = await read(offset, offset + startEnd);
  const end = await read(offset + endBegin, offset + length);
  return async (from, to) => {
    if (to <= startEnd) return start.subarray(from, to);
    if (from >= endBegin) return end.subarray(from - endBegin, to - endBegin);
    return await read(offset + from, offset + to);
  };
};

const wrong = (piece: PlacedPiece, file: string, reason: string): LayerloomError =>
  new LayerloomError('HEADER_INVALID', { file, tensor: short(pieceName(piece)), reason });

/** Checks that streams lie within their file, without overlaps. */
const checkExtents = (pieces: readonly PlacedPiece[], file: string, fileBytes: number): void => {
  let last = 0;
  for (const piece of pieces.toSorted((a, b) => a.offset - b.offset)) {
    const end = piece.offset + piece.length;
    if (end > fileBytes)
      throw wrong(
        piece,
        file,
        `should end at byte ${end} of a file of ${fileBytes} bytes; its save has not finished, or its copy is incomplete`,
      );
    if (piece.offset < last) throw wrong(piece, file, 'begins within another one');
    last = end;
  }
};

const locate = async (read: ReadRange, piece: PlacedPiece, file: string): Promise<TensorInFile> => {
  const { tensor, dtype, shape, at, sizes, offset, length } = piece;
  const name = pieceName(piece);
  const { pickle, storages } = await readTorchZip(await within(read, piece), file, length);
  const value = readPickle(pickle, file);
  if (!isTensor(value)) throw unsupported(file, `${short(name)} is no tensor`);
  if (value.dtype !== dtype || value.shape.join() !== sizes.join())
    throw wrong(
      piece,
      file,
      `is ${value.dtype} [${value.shape.join(', ')}], and ${metadataName} says ${dtype} [${sizes.join(', ')}]`,
    );
  const { begin, end } = place(name, value, new Map(storages), file);
  return { dtype, shape: sizes, begin: offset + begin, end: offset + end, piece: { tensor, shape, at } };
};

/**
 * Checkpoints of torch.distributed.checkpoint. `.metadata` divides tensors into pieces, and locates each
 * piece's torch.save zip in `.distcp` files.
 */
export const distributedReader: ContainerReader = {
  name: 'PyTorch’s distributed checkpoint',
  extension,
  index: {
    name: metadataName,
    parse: (bytes, file) =>
      new Map(
        parseMetadata(Buffer.from(bytes), file).map((piece) => [pieceName(piece), piece.file] as const),
      ),
  },
  isInFolder: true,
  weightsIn: () => [],
  collectHeader: async (read, file, fileBytes) => {
    const own = await piecesIn(file);
    checkExtents(own, file, fileBytes);
    const found: (readonly [string, TensorInFile])[] = [];
    for (const piece of own) found.push([pieceName(piece), await locate(read, piece, file)]);
    return collectedHeader(found);
  },
  ...ofCollected,
};
