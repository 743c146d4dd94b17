import { LayerloomError } from '../../errors.js';
import type { JobStatus } from '../../native/job.js';

/**
 * Gives a native status its names.
 *
 * @param files of the tensor's sources, in order
 */
export const failureOf = (
  status: JobStatus,
  { tensor, dtype, file }: { tensor: string; dtype: string; file: string },
  files: readonly string[],
): Error => {
  if (status.outcome === 'writeFailed')
    return new LayerloomError('WRITE_FAILED', { file, tensor, reason: status.reason });
  if (status.outcome === 'notEqual')
    return new LayerloomError('NON_FLOATING_MISMATCH', {
      tensor,
      dtype,
      files: [files[0] ?? '', files[status.source] ?? ''],
    });
  return sourceError(status, tensor, files);
};

/** What went wrong with a source of a tensor. */
export const sourceError = (status: JobStatus, tensor: string, files: readonly string[]): Error => {
  const file = files[status.source] ?? '';
  if (status.outcome === 'inputShrank') return new LayerloomError('INPUT_SHRANK', { file, tensor });
  if (status.outcome === 'readFailed')
    return new LayerloomError('READ_FAILED', { file, tensor, reason: status.reason });
  return new Error(`a job of ${tensor} ended ${status.outcome}`);
};
