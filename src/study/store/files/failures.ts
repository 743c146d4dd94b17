import { codeOf } from '../../../core/base/errors/errors.js';

/** True if the file does not exist. NFS reports ESTALE for a file that another host removed. */
export const isAbsent = (error: unknown): boolean => ['ENOENT', 'ESTALE'].includes(codeOf(error) ?? '');

/** For `catch`: returns undefined if the file does not exist; rethrows otherwise. */
export const absent = (error: unknown): undefined => {
  if (!isAbsent(error)) throw error;
};
