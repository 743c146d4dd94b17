import type { FileHandle } from 'node:fs/promises';

/**
 * Reads `buffer.length` bytes from a position on, or those up to the file's end: a file system may give fewer bytes than
 * asked for at a time. Returns the part of the buffer that was filled.
 */
export const readBlock = async (file: FileHandle, buffer: Buffer, position: number): Promise<Buffer> => {
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, position + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
};

/** Reads bytes [begin, end); 0 stands for those that a file which was cut off no longer has. */
export const readRange = async (file: FileHandle, begin: number, end: number): Promise<Buffer> => {
  const bytes = Buffer.alloc(end - begin);
  await readBlock(file, bytes, begin);
  return bytes;
};
