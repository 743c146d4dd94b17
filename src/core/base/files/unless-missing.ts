import { readdir } from 'node:fs/promises';
import { codeOf, LayerloomError } from '../errors/errors.js';
import { readFailed } from './writing.js';

/** Codes for a missing file or an impossible name; ERR_INVALID_ARG_VALUE is Node's for a NUL in a name. */
const missing: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE'];

export const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && missing.includes(cause.code);

/** Awaits a read; undefined if the file is missing. @throws LayerloomError READ_FAILED */
export const unlessMissing = <T>(file: string, reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((cause: unknown) => {
    if (isMissing(cause)) return undefined;
    throw readFailed(file, cause);
  });

/** True if the system failed to read a file that may exist; false if the text was read and then refused. */
export const isUnreadable = (cause: unknown): boolean =>
  cause instanceof Error && 'errno' in cause && !isMissing(cause);

/** True for a READ_FAILED for lack of permission. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof LayerloomError &&
  error.code === 'READ_FAILED' &&
  ['EACCES', 'EPERM'].includes(codeOf(error.cause) ?? '');

/** Returns the names in a directory, or an empty list. @throws LayerloomError READ_FAILED */
export const namesIn = async (directory: string): Promise<string[]> =>
  (await unlessMissing(directory, readdir(directory))) ?? [];
