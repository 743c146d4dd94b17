import { createHash } from 'node:crypto';
import type { OpenInput } from '../files/open-input.js';
import { readRange } from '../files/read-block.js';
import type { ContainerReader } from './container-reader.js';

/**
 * Reads all bytes before a file's data, or the bytes that its reader collects.
 *
 * @throws errors of the reader's `headerEnd` or `collectHeader`, and of `read`
 */
export const readHeader = async (
  reader: ContainerReader,
  read: (begin: number, end: number) => Promise<Uint8Array>,
  file: string,
  fileBytes: number,
): Promise<Uint8Array> => {
  if (reader.collectHeader !== undefined) return await reader.collectHeader(read, file, fileBytes);
  let header: Uint8Array = new Uint8Array();
  for (;;) {
    const end = reader.headerEnd(header, file, fileBytes);
    if (end <= header.length) return header.subarray(0, end);
    header = Buffer.concat([header, await read(header.length, end)]);
  }
};

/** Returns a header's bytes and their SHA-256 in hex. @throws as `readHeader` */
export const readHeaderOf = async (
  reader: ContainerReader,
  handle: Pick<OpenInput, 'read'>,
  file: string,
  fileBytes: number,
): Promise<{ header: Uint8Array; hash: string }> => {
  const header = await readHeader(reader, (begin, end) => readRange(handle, begin, end), file, fileBytes);
  return { header, hash: createHash('sha256').update(header).digest('hex') };
};
