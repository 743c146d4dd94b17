import { type FileHandle, mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

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

/**
 * Makes a directory and those above it. Node's own `recursive` never ends where a file system answers ENOENT for a directory whose
 * parent is there, as /proc does.
 *
 * @param durably whether the names of those that it makes are on the disk when it returns
 */
export const makeDirectories = async (path: string, durably = false): Promise<void> => {
  const exists = (directory: string) =>
    stat(directory).then(
      (found) => found.isDirectory(),
      () => false,
    );
  if (await exists(path)) return;
  const parent = dirname(path);
  if (!(await exists(parent)) && parent !== path) await makeDirectories(parent, durably);
  await mkdir(path).catch(async (error: NodeJS.ErrnoException) => {
    // Another process may have made it meanwhile.
    if (error.code !== 'EEXIST' || !(await exists(path))) throw error;
  });
  if (durably) await syncDirectory(parent);
};
