import { LayerloomError } from '../../base/errors.js';
import { itemAt } from '../../base/lookup.js';
import type { JobStatus } from '../../native/job.js';

/** @param files paths of the tensor's sources, indexed by `status.source` */
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
      files: [itemAt(files, 0), itemAt(files, status.source)],
    });
  return sourceError(status, tensor, files);
};

/** `files` as for `failureOf`. */
export const sourceError = (status: JobStatus, tensor: string, files: readonly string[]): Error => {
  if (status.outcome === 'inputShrank')
    return new LayerloomError('INPUT_SHRANK', { file: itemAt(files, status.source), tensor });
  if (status.outcome === 'readFailed') {
    const { source, reason } = status;
    return new LayerloomError('READ_FAILED', { file: itemAt(files, source), tensor, reason });
  }
  if (status.outcome === 'threadFailed')
    return new LayerloomError('THREADS_UNAVAILABLE', { reason: status.reason });
  return new Error(`a job of ${tensor} ended ${status.outcome}`);
};
