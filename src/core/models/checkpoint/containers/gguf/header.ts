import { LayerloomError } from '../../../../base/errors/errors.js';
import { type BlockType, blockTypes, bytesOfRow } from '../../../../tensor/block-layout.js';
import { elementCount, type Shape } from '../../../../tensor/reference.js';
import { checkTensorName, short } from '../short-name.js';
import { invalidGguf, type MetadataValue, MoreNeeded, Scanner } from './scanner.js';

/** A tensor by its GGUF name, with its shape in row-major order. */
export interface GgufTensor {
  readonly name: string;
  readonly type: BlockType;
  readonly shape: Shape;
  readonly begin: number;
  readonly end: number;
}

export interface GgufHeader {
  readonly metadata: ReadonlyMap<string, MetadataValue>;
  readonly tensors: readonly GgufTensor[];
}

/** Maximum numbers of header bytes, metadata keys and tensors: several times the numbers in the largest models. */
const [mostHeaderBytes, mostKeys, mostTensors] = [100_000_000, 65_536, 1 << 20];

const firstBytes = 1 << 20;

const mostDimensions = 4;

/** All types, including unreadable ones. Missing numbers are removed types. */
const typeNames: Readonly<Record<number, string>> = {
  ...{
    0: 'F32',
    1: 'F16',
    2: 'Q4_0',
    3: 'Q4_1',
    6: 'Q5_0',
    7: 'Q5_1',
    8: 'Q8_0',
    9: 'Q8_1',
    10: 'Q2_K',
    11: 'Q3_K',
  },
  ...{
    12: 'Q4_K',
    13: 'Q5_K',
    14: 'Q6_K',
    15: 'Q8_K',
    16: 'IQ2_XXS',
    17: 'IQ2_XS',
    18: 'IQ3_XXS',
    19: 'IQ1_S',
  },
  ...{
    20: 'IQ4_NL',
    21: 'IQ3_S',
    22: 'IQ2_S',
    23: 'IQ4_XS',
    24: 'I8',
    25: 'I16',
    26: 'I32',
    27: 'I64',
    28: 'F64',
  },
  ...{ 29: 'IQ1_M', 30: 'BF16', 34: 'TQ1_0', 35: 'TQ2_0', 39: 'MXFP4' },
};

/** Returns the header's end, or the number of bytes to call it with. @throws LayerloomError */
export const endOfHeader = (start: Uint8Array, file: string, fileBytes: number): number => {
  if (fileBytes < 24) throw new LayerloomError('FILE_TOO_SHORT', { file, bytes: fileBytes });
  const more = Math.min(fileBytes, mostHeaderBytes, Math.max(firstBytes, 2 * start.length));
  if (start.length === 0) return more;
  try {
    return scan(start, file, fileBytes).end;
  } catch (error) {
    if (!(error instanceof MoreNeeded)) throw error;
    if (start.length >= mostHeaderBytes)
      throw new LayerloomError('HEADER_TOO_LARGE', { file, bytes: error.bytes });
    return more;
  }
};

/** Parses the bytes before the data. @throws LayerloomError naming file and tensor */
export const parseGguf = (header: Uint8Array, file: string, fileBytes: number): GgufHeader => {
  const { metadata, tensors, layout } = laidOut(header, file, fileBytes);
  const found = tensors.map((tensor) => placed(tensor, layout));
  checkApart(found, file);
  return { metadata, tensors: found };
};

/** Elements and bytes of a block, for unreadable types that llama-quantize writes. */
const unreadBlocks: Readonly<Record<string, readonly [elements: number, bytes: number]>> = {
  ...{ Q2_K: [256, 84], Q3_K: [256, 110], IQ4_NL: [32, 18], IQ4_XS: [256, 136] },
};

/**
 * Counts tensors and elements, including those of unreadable types.
 *
 * @throws LayerloomError for an invalid header or a truncated file
 */
export const countGguf = (
  header: Uint8Array,
  file: string,
  fileBytes: number,
): { readonly tensors: number; readonly elements: number } => {
  const { tensors, layout } = laidOut(header, file, fileBytes);
  let elements = 0;
  for (const tensor of tensors) {
    const [inBlock, bytes] = unreadBlocks[typeNames[tensor.type] ?? ''] ?? [];
    const count = elementCount(tensor.shape) ?? 0;
    elements += count;
    if (inBlock === undefined || bytes === undefined) placed(tensor, layout);
    else checkLength(layout, layout.data + tensor.offset + (count / inBlock) * bytes);
  }
  return { tensors: tensors.length, elements };
};

const laidOut = (header: Uint8Array, file: string, fileBytes: number): Scanned & { layout: Layout } => {
  const scanned = scan(header, file, fileBytes);
  const alignment = scanned.metadata.get('general.alignment') ?? 32;
  if (typeof alignment !== 'number' || alignment < 1 || !Number.isInteger(Math.log2(alignment)))
    throw invalidGguf(file, 'general.alignment is no power of two');
  const data = Math.ceil(scanned.end / alignment) * alignment;
  return { ...scanned, layout: { file, fileBytes, data, alignment } };
};

const checkLength = ({ file, fileBytes }: Layout, expected: number): void => {
  if (expected > fileBytes)
    throw new LayerloomError('FILE_LENGTH_MISMATCH', { file, expected, actual: fileBytes });
};

/** Refuses overlapping tensors, because they would share values at different places of the model. */
const checkApart = (tensors: readonly GgufTensor[], file: string): void => {
  const inOrder = tensors.toSorted((a, b) => a.begin - b.begin);
  for (const [index, { name, begin }] of inOrder.entries())
    if (begin < (inOrder[index - 1]?.end ?? 0))
      throw new LayerloomError('OFFSETS_INVALID', {
        ...{ file, tensor: short(name), reason: 'it overlaps the tensor before it' },
      });
};

interface Listed {
  readonly name: string;
  readonly type: number;
  readonly shape: Shape;
  readonly offset: number;
}

interface Scanned {
  readonly metadata: ReadonlyMap<string, MetadataValue>;
  readonly tensors: readonly Listed[];
  readonly end: number;
}

const scan = (bytes: Uint8Array, file: string, fileBytes: number): Scanned => {
  const from = new Scanner(bytes, file, fileBytes);
  if (from.uint32() !== 0x46554747) throw invalidGguf(file, 'it does not begin with GGUF');
  const version = from.uint32();
  if (version !== 2 && version !== 3)
    throw new LayerloomError('WEIGHTS_UNSUPPORTED', {
      file,
      reason: version > 0xffff ? 'its numbers are big-endian' : `it is of version ${version} of GGUF`,
      remedy: 'convert the model again with a newer llama.cpp',
    });
  const count = from.uint64('the number of tensors');
  const keys = from.uint64('the number of keys');
  if (count > mostTensors || keys > mostKeys)
    throw invalidGguf(file, `it has ${count} tensors and ${keys} keys`);
  const metadata = new Map<string, MetadataValue>();
  for (let index = 0; index < keys; index += 1) {
    const key = from.name('a key');
    if (metadata.has(key)) throw invalidGguf(file, `it has ${short(key)} twice`);
    metadata.set(key, from.value(key));
  }
  const tensors: Listed[] = [];
  for (let index = 0; index < count; index += 1) tensors.push(listed(from, file));
  return { metadata, tensors, end: from.position };
};

const listed = (from: Scanner, file: string): Listed => {
  const name = from.name('the name of a tensor');
  checkTensorName(name, file);
  const dimensions = from.uint32();
  if (dimensions < 1 || dimensions > mostDimensions)
    throw invalidGguf(file, `it has ${dimensions} dimensions`, name);
  const shape = Array.from({ length: dimensions }, () => from.uint64('an extent')).reverse();
  return { name, shape, type: from.uint32(), offset: from.uint64('an offset') };
};

interface Layout {
  readonly file: string;
  readonly fileBytes: number;
  readonly data: number;
  readonly alignment: number;
}

const placed = ({ name, type, shape, offset }: Listed, layout: Layout): GgufTensor => {
  const { file, data, alignment } = layout;
  const tensor = short(name);
  const typeName = typeNames[type] ?? `type ${type}`;
  const known = blockTypes.find((one) => one === typeName);
  if (known === undefined)
    throw new LayerloomError('WEIGHTS_UNSUPPORTED', {
      ...{ file, tensor, reason: `is of ${typeName}` },
      remedy: `${blockTypes.join(', ')} are read: give the model in one of these, or what it was made of`,
    });
  const elements = elementCount(shape);
  const width = shape.at(-1) ?? 0;
  if (elements === undefined) throw new LayerloomError('SHAPE_OVERFLOW', { file, tensor, shape });
  const bytesInRow = bytesOfRow(known, width);
  if (elements === 0 || bytesInRow === undefined)
    throw invalidGguf(file, `its shape [${shape.join(', ')}] fills no blocks of ${known}`, name);
  const bytes = (elements / width) * bytesInRow;
  const begin = data + offset;
  if (offset % alignment !== 0)
    throw new LayerloomError('OFFSETS_INVALID', {
      ...{ file, tensor, reason: `its offset ${offset} is no multiple of ${alignment}` },
    });
  checkLength(layout, begin + bytes);
  return { name, type: known, shape, begin, end: begin + bytes };
};
