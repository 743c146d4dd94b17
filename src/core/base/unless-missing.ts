import { readdir } from 'node:fs/promises';
import { codeOf, LayerloomError, reasonOf } from './errors.js';

/** What a system says of a file that is not there, and of a name that no file can have: Node, of one with a NUL in it. */
const missing: readonly unknown[] = ['ENOENT', 'ENOTDIR', 'ENAMETOOLONG', 'ERR_INVALID_ARG_VALUE'];

/** True for the error of a file that is not there. */
export const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && missing.includes(cause.code);

/** Waits for what is read of a file; undefined where there is none. @throws LayerloomError READ_FAILED */
export const unlessMissing = <T>(file: string, reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((cause: unknown) => {
    if (isMissing(cause)) return undefined;
    throw new LayerloomError('READ_FAILED', { file, reason: reasonOf(cause) }, { cause });
  });

/** True for a failure of the system to read what may well be there, and not for what is refused or found malformed. */
export const isUnreadable = (cause: unknown): boolean =>
  cause instanceof Error && 'errno' in cause && !isMissing(cause);

/** True for a READ_FAILED of what this user may not read, as a path that another user or another machine wrote down. */
export const isForbidden = (error: unknown): boolean =>
  error instanceof LayerloomError &&
  error.code === 'READ_FAILED' &&
  ['EACCES', 'EPERM'].includes(codeOf(error.cause) ?? '');

/** Returns the names in a directory; none where there is no directory. @throws LayerloomError READ_FAILED */
export const namesIn = async (directory: string): Promise<string[]> =>
  (await unlessMissing(directory, readdir(directory))) ?? [];
