import type { FileHandle } from 'node:fs/promises';

/** Fills the buffer from a position on. Returns the filled part, which is shorter at the file's end. */
export const readBlock = async (file: FileHandle, buffer: Buffer, position: number): Promise<Buffer> => {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
};

/** Reads bytes [begin, end); those past the file's end are 0. */
export const readRange = async (file: FileHandle, begin: number, end: number): Promise<Buffer> => {
  const bytes = Buffer.alloc(end - begin);
  await readBlock(file, bytes, begin);
  return bytes;
};
