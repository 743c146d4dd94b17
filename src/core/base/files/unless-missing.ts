import { readdir } from 'node:fs/promises';
import { codeOf, LayerloomError } from '../errors/errors.js';
import { readFailed } from './writing.js';

/** Codes for missing files and impossible names. ERR_INVALID_ARG_VALUE is Node's code for a name with NUL. */
const missing: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE'];

export const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && missing.includes(cause.code);

/** Awaits a read; undefined if the file is missing. @throws READ_FAILED */
export const unlessMissing = <T>(file: string, reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((cause: unknown) => {
    if (isMissing(cause)) return undefined;
    throw readFailed(file, cause);
  });

/** True if the system could not read an existing file; false if a text was read but refused. */
export const isUnreadable = (cause: unknown): boolean =>
  cause instanceof Error && 'errno' in cause && !isMissing(cause);

export const isForbidden = (error: unknown): boolean =>
  error instanceof LayerloomError &&
  error.code === 'READ_FAILED' &&
  ['EACCES', 'EPERM'].includes(codeOf(error.cause) ?? '');

/**
 * Returns the names in a directory; none if it is missing.
 *
 * @throws READ_FAILED
 */
export const namesIn = async (directory: string): Promise<string[]> =>
  (await unlessMissing(directory, readdir(directory))) ?? [];
