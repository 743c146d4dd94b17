import { readSync } from 'node:fs';
import type { OpenInput } from './open-input.js';

/** Fills the buffer from a position on; returns the filled part, which is shorter at the file's end. */
export const readBlock = async (
  file: Pick<OpenInput, 'read'>,
  buffer: Buffer,
  position: number,
): Promise<Buffer> => {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
};

/** Like `readBlock`, on this thread. */
export const readBlockNow = (fd: number, buffer: Buffer, position: number): Buffer => {
  let filled = 0;
  for (let read = 1; read > 0 && filled < buffer.length; filled += read)
    read = readSync(fd, buffer, filled, buffer.length - filled, position + filled);
  return buffer.subarray(0, filled);
};

/** Reads bytes [begin, end). Bytes past the end of the file are 0. */
export const readRange = async (
  file: Pick<OpenInput, 'read'>,
  begin: number,
  end: number,
): Promise<Buffer> => {
  const bytes = Buffer.alloc(end - begin);
  await readBlock(file, bytes, begin);
  return bytes;
};
