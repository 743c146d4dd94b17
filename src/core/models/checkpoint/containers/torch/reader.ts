import { LayerloomError } from '../../../../base/errors/errors.js';
import type { Extent } from '../../../../tensor/extent.js';
import type { ContainerReader, WeightsIndex } from '../container-reader.js';
import { extensions } from '../extensions.js';
import { parseShardIndex } from '../safetensors/shard-index.js';
import { short } from '../short-name.js';
import { readPickle } from './pickle.js';
import { invalidTorchFile, unsupported } from './refusals.js';
import { tensorsOf } from './state-dict.js';
import { findData, type ReadRange, readDirectory, type ZipEntry } from './zip.js';

const mostPickleBytes = 64 * 1024 * 1024;

const singleFileName = 'pytorch_model.bin';

const index: WeightsIndex = {
  name: 'pytorch_model.bin.index.json',
  parse: (text, file) => {
    const places = parseShardIndex(text, file);
    const other = [...places.values()].find((name) => !name.endsWith('.bin'));
    if (other !== undefined)
      throw new LayerloomError('INDEX_INVALID', {
        file,
        reason: `its weight_map names ${short(other)}, which is no .bin file; write or download the index again`,
      });
    return places;
  },
};

/** A torch.save file: its pickle, and the ranges of its storages. */
export interface TorchZip {
  readonly pickle: Uint8Array;
  readonly storages: readonly (readonly [key: string, Extent])[];
}

/** Builds the input of `parseHeader`: length, pickle, and the storages' ranges as JSON. */
const join = ({ pickle, storages }: TorchZip): Uint8Array => {
  const length = Buffer.alloc(4);
  length.writeUInt32LE(pickle.length);
  return Buffer.concat([length, pickle, Buffer.from(JSON.stringify(storages))]);
};

const split = (header: Uint8Array): { pickle: Uint8Array; storages: ReadonlyMap<string, Extent> } => {
  const bytes = Buffer.from(header.buffer, header.byteOffset, header.byteLength);
  const end = 4 + bytes.readUInt32LE();
  const storages = new Map(JSON.parse(bytes.subarray(end).toString()) as [string, Extent][]);
  return { pickle: bytes.subarray(4, end), storages };
};

/**
 * Reads a zip of torch.save, except storages.
 *
 * @throws FILE_TOO_SHORT, HEADER_TOO_LARGE, HEADER_INVALID, WEIGHTS_UNSUPPORTED
 */
export const readTorchZip = async (read: ReadRange, file: string, fileBytes: number): Promise<TorchZip> => {
  if (fileBytes < 4) throw new LayerloomError('FILE_TOO_SHORT', { file, bytes: fileBytes });
  checkStart(Buffer.from(await read(0, Math.min(fileBytes, 512))), file);
  const entries = await readDirectory(read, file, fileBytes);
  const pickles = [...entries.values()].filter(({ name }) => /^[^/]+\/data\.pkl$/.test(name));
  const [pickle, ...more] = pickles;
  if (pickle === undefined || more.length > 0)
    throw invalidTorchFile(file, `the zip has ${pickles.length} entries data.pkl in a folder, and not one`);
  if (pickle.bytes > mostPickleBytes)
    throw new LayerloomError('HEADER_TOO_LARGE', { file, bytes: pickle.bytes });
  const folder = pickle.name.slice(0, -'data.pkl'.length);
  await checkByteOrder(read, entries.get(`${folder}byteorder`), file);
  const content = await contentOf(read, pickle, file);
  const storages: (readonly [string, Extent])[] = [];
  for (const entry of entries.values())
    if (entry.name.startsWith(`${folder}data/`))
      storages.push([entry.name.slice(`${folder}data/`.length), await findData(read, entry, file)]);
  return { pickle: content, storages };
};

const contentOf = async (read: ReadRange, entry: ZipEntry, file: string): Promise<Uint8Array> => {
  const { begin, end } = await findData(read, entry, file);
  return await read(begin, end);
};

/** Files of older PyTorch lack this entry and are little-endian. */
const checkByteOrder = async (read: ReadRange, entry: ZipEntry | undefined, file: string): Promise<void> => {
  if (entry === undefined) return;
  if (entry.bytes > 16) throw invalidTorchFile(file, 'the zip’s byteorder is neither little nor big');
  const order = Buffer.from(await contentOf(read, entry, file)).toString('latin1');
  if (order === 'big') throw unsupported(file, 'its numbers are big-endian');
  if (order !== 'little') throw invalidTorchFile(file, 'the zip’s byteorder is neither little nor big');
};

const checkStart = (start: Buffer, file: string): void => {
  if (start.readUInt32LE() === 0x04034b50) return;
  const isTar = start.subarray(257, 262).toString('latin1') === 'ustar';
  // Before 1.6, torch.save wrote consecutive pickles, each with a PROTO; the earliest torch wrote a tar.
  if (start[0] === 0x80 || isTar)
    throw unsupported(
      file,
      `it is of PyTorch’s legacy format (${isTar ? 'a tar' : 'a pickle without a zip'}), whose tensors cannot be mapped`,
    );
  throw invalidTorchFile(file, 'it is no zip as torch.save writes it');
};

/**
 * PyTorch's format (torch.save since 1.6): a zip of stored entries, with storages and a pickle that describes
 * the tensors. `readPickle` reads the pickle as data.
 */
const torchReader: ContainerReader = {
  name: 'PyTorch’s zip',
  extension: extensions.torch,
  index,
  weightsIn: (names) => names.filter((name) => name === singleFileName),
  collectHeader: async (read, file, fileBytes) => join(await readTorchZip(read, file, fileBytes)),
  headerEnd: () => 0,
  parseHeader: (header, file) => {
    const { pickle, storages } = split(header);
    return { metadata: {}, tensors: tensorsOf(readPickle(pickle, file), storages, file) };
  },
};

/** The same format under another extension, which is not searched for in directories. */
const bare = (extension: string): ContainerReader => {
  const { index: _, ...reader } = torchReader;
  return { ...reader, extension, weightsIn: () => [] };
};

export const torchReaders: readonly ContainerReader[] = [torchReader, ...extensions.bareTorch.map(bare)];
