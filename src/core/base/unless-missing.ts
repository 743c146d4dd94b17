import { readdir } from 'node:fs/promises';
import { codeOf, LayerloomError, reasonOf } from './errors.js';

/**
 * Codes for a file that does not exist, or for an impossible name: Node reports ERR_INVALID_ARG_VALUE for a
 * NUL in a name.
 */
const missing: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE'];

/** True for the error of a missing file. */
export const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && missing.includes(cause.code);

/** Awaits a read; undefined if the file is missing. @throws LayerloomError READ_FAILED */
export const unlessMissing = <T>(file: string, reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((cause: unknown) => {
    if (isMissing(cause)) return undefined;
    throw new LayerloomError('READ_FAILED', { file, reason: reasonOf(cause) }, { cause });
  });

/**
 * True if the system failed to read something that may exist; false for text that was refused or malformed.
 */
export const isUnreadable = (cause: unknown): boolean =>
  cause instanceof Error && 'errno' in cause && !isMissing(cause);

/** True for a READ_FAILED for lack of permission, as with a path that another user or machine recorded. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof LayerloomError &&
  error.code === 'READ_FAILED' &&
  ['EACCES', 'EPERM'].includes(codeOf(error.cause) ?? '');

/**
 * Returns the names in a directory; an empty list if it does not exist. @throws LayerloomError READ_FAILED
 */
export const namesIn = async (directory: string): Promise<string[]> =>
  (await unlessMissing(directory, readdir(directory))) ?? [];
