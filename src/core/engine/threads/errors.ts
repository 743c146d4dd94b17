import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import type { JobStatus } from '../../native/job.js';

/** The tensor that a failed job was reading or, with `file`, writing. */
export interface Failing {
  readonly tensor: string;
  readonly dtype?: string;
  readonly file?: string;
}

/** @param files paths of the job's sources, indexed by `status.source` */
export const failureOf = (
  { outcome, source, reason }: JobStatus,
  { tensor, dtype = '', file = '' }: Failing,
  files: readonly string[],
): Error => {
  switch (outcome) {
    case 'writeFailed':
      return new LayerloomError('WRITE_FAILED', { file, tensor, reason });
    case 'notEqual':
      return new LayerloomError('NON_FLOATING_MISMATCH', {
        tensor,
        dtype,
        files: [itemAt(files, 0), itemAt(files, source)],
      });
    case 'inputShrank':
      return new LayerloomError('INPUT_SHRANK', { file: itemAt(files, source), tensor });
    case 'readFailed':
      return new LayerloomError('READ_FAILED', { file: itemAt(files, source), tensor, reason });
    case 'threadFailed':
      return new LayerloomError('THREADS_UNAVAILABLE', { reason });
    case 'cancelled':
    case 'done':
      return new Error(`a job of ${tensor} ended ${outcome}`);
  }
};
