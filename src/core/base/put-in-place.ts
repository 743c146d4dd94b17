import { rename, rm } from 'node:fs/promises';
import { removeAbandoned } from './abandoned.js';

/**
 * Puts a file or link into its place, whole: `make` makes it under a name beside `path` that no other process uses. Where
 * that fails nothing of it stays; what killed processes left of it is removed.
 *
 * @param isOnlyWriter true under a lock of the path: leftovers are removed however new they are
 */
export const putInPlace = async (
  path: string,
  make: (temporary: string) => Promise<unknown>,
  { isOnlyWriter = false }: { isOnlyWriter?: boolean } = {},
): Promise<void> => {
  await removeAbandoned(path, {
    end: /^[0-9a-f]{1,8}\.incomplete$/,
    ...(isOnlyWriter ? { ageMs: Number.NEGATIVE_INFINITY } : {}),
  });
  const temporary = `${path}.${Math.random().toString(16).slice(2, 10)}.incomplete`;
  try {
    await make(temporary);
    await rename(temporary, path);
  } catch (error) {
    // The first error is the one to report.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
};
