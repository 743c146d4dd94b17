import { codeOf, LayerloomError, reasonOf } from '../../core/base/errors.js';

/**
 * True for the errors of a file that does not exist; NFS reports ESTALE for one that another host has
 * removed.
 */
export const isAbsent = (error: unknown): boolean => ['ENOENT', 'ESTALE'].includes(codeOf(error) ?? '');

/** A handler for `catch`: returns undefined if the file does not exist, and throws other errors. */
export const absent = (error: unknown): undefined => {
  if (!isAbsent(error)) throw error;
};

/** Runs work that writes to `file`. @throws LayerloomError WRITE_FAILED in place of its errors */
export const writing = async <T>(file: string, action: () => Promise<T>): Promise<T> => {
  try {
    return await action();
  } catch (cause) {
    if (cause instanceof LayerloomError) throw cause;
    throw new LayerloomError('WRITE_FAILED', { file, reason: reasonOf(cause) }, { cause });
  }
};
