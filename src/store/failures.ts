import { LayerloomError, reasonOf } from '../errors.js';

export const codeOf = (error: unknown): string | undefined => (error as NodeJS.ErrnoException).code;

/** What a name that is not there, or no more, is answered with: ESTALE by NFS, for a file that another host has removed. */
export const isAbsent = (error: unknown): boolean => ['ENOENT', 'ESTALE'].includes(codeOf(error) ?? '');

/** For `catch`: undefined where the file is not there. */
export const absent = (error: unknown): undefined => {
  if (!isAbsent(error)) throw error;
};

/** Does what writes to `file`. @throws LayerloomError WRITE_FAILED */
export const writing = async <T>(file: string, action: () => Promise<T>): Promise<T> => {
  try {
    return await action();
  } catch (cause) {
    if (cause instanceof LayerloomError) throw cause;
    throw new LayerloomError('WRITE_FAILED', { file, reason: reasonOf(cause) }, { cause });
  }
};
