import { codeOf, LayerloomError, reasonOf } from '../../core/base/errors.js';

/** True if the file does not exist. NFS reports ESTALE for a file that another host removed. */
export const isAbsent = (error: unknown): boolean => ['ENOENT', 'ESTALE'].includes(codeOf(error) ?? '');

/** For `catch`: returns undefined if the file does not exist; rethrows otherwise. */
export const absent = (error: unknown): undefined => {
  if (!isAbsent(error)) throw error;
};

/** @throws LayerloomError WRITE_FAILED for any error of `action` */
export const writing = async <T>(file: string, action: () => Promise<T>): Promise<T> => {
  try {
    return await action();
  } catch (cause) {
    if (cause instanceof LayerloomError) throw cause;
    throw new LayerloomError('WRITE_FAILED', { file, reason: reasonOf(cause) }, { cause });
  }
};
