import { stat } from 'node:fs/promises';

/** True if a path leads to a file or a directory. */
export const exists = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );

export const allExist = async (paths: readonly string[]): Promise<boolean> =>
  (await Promise.all(paths.map(exists))).every(Boolean);
