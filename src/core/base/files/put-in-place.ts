import { rename, rm } from 'node:fs/promises';
import { removeAbandoned } from './abandoned.js';

/**
 * Creates a file or link atomically: `make` writes it under a unique name, then it is renamed. Failures leave
 * nothing; leftovers of killed processes are removed.
 *
 * @param isOnlyWriter true if the caller holds a lock: removes leftovers of any age
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
    // Ignores this error, so that the first error is reported.
    await rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
};
