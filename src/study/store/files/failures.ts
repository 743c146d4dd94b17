import { codeOf } from '../../../core/base/errors/errors.js';

/** True if a file is absent; NFS reports ESTALE for a file that another host removed. */
export const isAbsent = (error: unknown): boolean => ['ENOENT', 'ESTALE'].includes(codeOf(error) ?? '');

/** Handles errors for `catch`: returns undefined for an absent file, and rethrows all other errors. */
export const absent = (error: unknown): undefined => {
  if (!isAbsent(error)) throw error;
};
