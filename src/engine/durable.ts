import { type FileHandle, open } from 'node:fs/promises';

/** Calls `use` with an open file and closes it, however that ends. */
export const withFile = async <T>(
  path: string,
  flags: string | number,
  use: (file: FileHandle) => Promise<T>,
): Promise<T> => {
  const file = await open(path, flags);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
};

/** Writes a file that is on the disk when it returns; its name is once its directory was synced. */
export const writeDurably = (path: string, content: string | Uint8Array): Promise<void> =>
  withFile(path, 'w', async (file) => {
    await file.writeFile(content);
    await file.sync();
  });

/** Makes names durable that were created in, renamed into or removed from a directory. */
export const syncDirectory = (directory: string): Promise<void> =>
  withFile(directory, 'r', (file) => file.sync());
