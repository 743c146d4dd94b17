import { type FileHandle, mkdir, open, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Calls `use` with an open file, and closes it also where `use` throws. */
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

/** Writes and fsyncs a file. Its name is durable only after `syncDirectory` of its directory. */
export const writeDurably = (path: string, content: string | Uint8Array): Promise<void> =>
  withFile(path, 'w', async (file) => {
    await file.writeFile(content);
    await file.sync();
  });

/** Fsyncs a directory, which makes creations, renames and removals in it durable. */
export const syncDirectory = (directory: string): Promise<void> =>
  withFile(directory, 'r', (file) => file.sync());

/**
 * Creates a directory and its missing ancestors. Replaces Node's `recursive`, which loops forever where a
 * file system answers ENOENT although the parent exists, as /proc does.
 *
 * @param durably fsync the parents of the directories that it creates
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
    // Another process may have created it in the meantime.
    if (error.code !== 'EEXIST' || !(await exists(path))) throw error;
  });
  if (durably) await syncDirectory(parent);
};
