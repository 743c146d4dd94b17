import { LayerloomError } from '../../../../base/errors/errors.js';
import type { Extent } from '../../../../tensor/extent.js';
import { short } from '../short-name.js';
import { invalidTorchFile, unsupported } from './refusals.js';

export type ReadRange = (begin: number, end: number) => Promise<Uint8Array>;

/** A stored (uncompressed) entry of the zip's directory. */
export interface ZipEntry {
  readonly name: string;
  readonly bytes: number;
  readonly header: number;
  /** Offset of the next local header or the directory, which the data must not pass. */
  readonly limit: number;
}

const mostDirectoryBytes = 64 * 1024 * 1024;
const mostEntries = 200_000;

const [endBytes, locatorBytes, end64Bytes, entryBytes, localBytes] = [22, 20, 56, 46, 30];
const [endSign, locatorSign, end64Sign, entrySign, localSign] = [
  0x06054b50, 0x07064b50, 0x06064b50, 0x02014b50, 0x04034b50,
];
const [encrypted, sizesFollow] = [0x0001, 0x0008];
const [all16, all32] = [0xffff, 0xffffffff];

const viewOf = (bytes: Uint8Array): DataView =>
  new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

/** Reads a 64-bit number. Values beyond 2⁵³ lose precision, but any such value exceeds a file's length. */
const big = (view: DataView, at: number): number => Number(view.getBigUint64(at, true));

/**
 * Reads a zip's directory as PyTorch writes it: at the very end of the file, with stored entries that do not
 * overlap.
 *
 * @returns entries by name
 * @throws FILE_TOO_SHORT, HEADER_TOO_LARGE, HEADER_INVALID; WEIGHTS_UNSUPPORTED for compressed entries
 */
export const readDirectory = async (
  read: ReadRange,
  file: string,
  fileBytes: number,
): Promise<ReadonlyMap<string, ZipEntry>> => {
  if (fileBytes < endBytes) throw new LayerloomError('FILE_TOO_SHORT', { file, bytes: fileBytes });
  const { count, begin, end } = await findDirectory(read, file, fileBytes);
  if (end - begin > mostDirectoryBytes || count > mostEntries)
    throw new LayerloomError('HEADER_TOO_LARGE', { file, bytes: end - begin });
  const listed = parseDirectory(await read(begin, end), count, file);
  const inOrder = listed.toSorted((a, b) => a.header - b.header);
  const entries = new Map<string, ZipEntry>();
  for (const [index, entry] of inOrder.entries()) {
    const limit = inOrder[index + 1]?.header ?? begin;
    if (entry.header + localBytes + entry.bytes > limit)
      throw invalidTorchFile(file, `zip entry ${short(entry.name)} overlaps what is behind it`);
    if (entries.has(entry.name)) throw invalidTorchFile(file, `zip entry ${short(entry.name)} stands twice`);
    entries.set(entry.name, { ...entry, limit });
  }
  return entries;
};

const findDirectory = async (
  read: ReadRange,
  file: string,
  fileBytes: number,
): Promise<Extent & { count: number }> => {
  const tailBytes = Math.min(fileBytes, end64Bytes + locatorBytes + endBytes);
  const tail = viewOf(await read(fileBytes - tailBytes, fileBytes));
  const at = tailBytes - endBytes;
  if (tail.getUint32(at, true) !== endSign)
    throw invalidTorchFile(file, 'the zip has no directory at its end; the download may be incomplete');
  const [disk, first, here, total] = [4, 6, 8, 10].map((offset) => tail.getUint16(at + offset, true));
  const [bytes, offset] = [tail.getUint32(at + 12, true), tail.getUint32(at + 16, true)];
  const short32 = { count: total ?? 0, bytes, offset };
  const has64 = at >= locatorBytes && tail.getUint32(at - locatorBytes, true) === locatorSign;
  const { end: directoryEnd, ...directory } = has64
    ? { ...findDirectory64(tail, at, file, fileBytes), end: fileBytes - tailBytes }
    : { ...short32, end: fileBytes - endBytes };
  // If the two end records disagree, programs would read different directories.
  const agrees = (value: number, limit: number, full: number) => value === full || (has64 && value === limit);
  if (
    tail.getUint16(at + 20, true) !== 0 ||
    disk !== 0 ||
    first !== 0 ||
    here !== total ||
    !agrees(short32.count, all16, directory.count) ||
    !agrees(bytes, all32, directory.bytes) ||
    !agrees(offset, all32, directory.offset) ||
    directory.offset + directory.bytes !== directoryEnd
  )
    throw invalidTorchFile(file, 'the end of the zip contradicts itself');
  return { count: directory.count, begin: directory.offset, end: directoryEnd };
};

const findDirectory64 = (tail: DataView, end: number, file: string, fileBytes: number) => {
  const locator = end - locatorBytes;
  const at = locator - end64Bytes;
  const place = fileBytes - endBytes - locatorBytes - end64Bytes;
  if (
    at < 0 ||
    big(tail, locator + 8) !== place ||
    tail.getUint32(at, true) !== end64Sign ||
    big(tail, at + 4) !== end64Bytes - 12 ||
    tail.getUint32(locator + 4, true) !== 0 ||
    tail.getUint32(at + 16, true) !== 0 ||
    tail.getUint32(at + 20, true) !== 0 ||
    big(tail, at + 24) !== big(tail, at + 32)
  )
    throw invalidTorchFile(file, 'the 64-bit end of the zip contradicts itself');
  return { count: big(tail, at + 32), bytes: big(tail, at + 40), offset: big(tail, at + 48) };
};

const parseDirectory = (bytes: Uint8Array, count: number, file: string): Omit<ZipEntry, 'limit'>[] => {
  const view = viewOf(bytes);
  const entries = [];
  let at = 0;
  for (let index = 0; index < count; index += 1) {
    if (at + entryBytes > bytes.length || view.getUint32(at, true) !== entrySign)
      throw invalidTorchFile(file, 'the directory of the zip ends before its entries');
    const [nameBytes = 0, extraBytes = 0, commentBytes = 0] = [28, 30, 32].map((offset) =>
      view.getUint16(at + offset, true),
    );
    const extraAt = at + entryBytes + nameBytes;
    const next = extraAt + extraBytes + commentBytes;
    if (next > bytes.length) throw invalidTorchFile(file, 'the directory of the zip ends within an entry');
    const name = decodeName(bytes.subarray(at + entryBytes, extraAt), file);
    const [packed, size, header] = wide(
      bytes.subarray(extraAt, extraAt + extraBytes),
      [view.getUint32(at + 20, true), view.getUint32(at + 24, true), view.getUint32(at + 42, true)],
      name,
      file,
    );
    checkStored(view, at + 8, name, file);
    if (packed !== size || !Number.isSafeInteger(size) || !Number.isSafeInteger(header))
      throw invalidTorchFile(file, `zip entry ${short(name)} is stored, and has two sizes`);
    entries.push({ name, bytes: size, header });
    at = next;
  }
  if (at !== bytes.length)
    throw invalidTorchFile(file, 'the directory of the zip holds more than its entries');
  return entries;
};

/** Checks flags and method, which have the same layout in the directory and in local headers. */
const checkStored = (view: DataView, at: number, name: string, file: string): void => {
  if ((view.getUint16(at, true) & encrypted) !== 0)
    throw unsupported(file, `its zip entry ${short(name)} is encrypted`);
  if (view.getUint16(at + 2, true) !== 0)
    throw unsupported(file, `its zip entry ${short(name)} is compressed, so that no tensor can be mapped`);
};

/** Replaces 32-bit fields of all ones by values of the ZIP64 extra field, in the format's order. */
const wide = (
  extra: Uint8Array,
  [packed, size, header]: readonly [number, number, number],
  name: string,
  file: string,
): readonly [number, number, number] => {
  const wanted = [size, packed, header].filter((value) => value === all32).length;
  const view = viewOf(extra);
  let at = 0;
  let found: number | undefined;
  while (at + 4 <= extra.length) {
    const bytes = view.getUint16(at + 2, true);
    if (view.getUint16(at, true) === 1) {
      if (found !== undefined) throw invalidTorchFile(file, `zip entry ${short(name)} has its sizes twice`);
      found = at + 4;
      if (bytes < 8 * wanted || found + bytes > extra.length)
        throw invalidTorchFile(file, `zip entry ${short(name)} lacks its 64-bit sizes`);
    }
    at += 4 + bytes;
  }
  if (wanted === 0) return [packed, size, header];
  if (found === undefined) throw invalidTorchFile(file, `zip entry ${short(name)} lacks its 64-bit sizes`);
  let next = found;
  const full = (value: number): number => {
    if (value !== all32) return value;
    next += 8;
    return big(view, next - 8);
  };
  const wideSize = full(size);
  return [full(packed), wideSize, full(header)];
};

const decodeName = (bytes: Uint8Array, file: string): string => {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch (cause) {
    const reason = 'a zip entry’s name is not UTF-8';
    throw new LayerloomError('HEADER_INVALID', { file, reason }, { cause });
  }
};

/** Bytes to read at first after a local header's start; they include PyTorch's padding to 64. */
const firstBytes = 128;

/**
 * Finds an entry's data by its local header, which must agree with the directory.
 *
 * @throws HEADER_INVALID, WEIGHTS_UNSUPPORTED
 */
export const findData = async (
  read: ReadRange,
  { name, bytes, header, limit }: ZipEntry,
  file: string,
): Promise<Extent> => {
  const contradicts = () =>
    invalidTorchFile(file, `the local header of zip entry ${short(name)} contradicts the directory`);
  const nameBytes = Buffer.from(name);
  const asked = Math.min(limit, header + localBytes + nameBytes.length + firstBytes);
  const start = await read(header, asked);
  const view = viewOf(start);
  if (start.length < localBytes + nameBytes.length || view.getUint32(0, true) !== localSign)
    throw contradicts();
  checkStored(view, 6, name, file);
  const begin = header + localBytes + view.getUint16(26, true) + view.getUint16(28, true);
  const ownName = start.subarray(localBytes, localBytes + view.getUint16(26, true));
  const sizes = [view.getUint32(18, true), view.getUint32(22, true)];
  // If sizes follow the data, PyTorch writes 0 here. All ones refer to the ZIP64 field.
  const isLeftOut = (view.getUint16(6, true) & sizesFollow) !== 0 && sizes.every((size) => size === 0);
  if (
    !nameBytes.equals(ownName) ||
    !(isLeftOut || sizes.every((size) => size === bytes || size === all32)) ||
    begin + bytes > limit
  )
    throw contradicts();
  return { begin, end: begin + bytes };
};
