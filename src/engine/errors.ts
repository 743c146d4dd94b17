import { LayerloomError } from '../errors.js';
import type { JobStatus } from '../native/addon.js';

/** What went wrong with a source of a tensor. */
export const sourceError = (status: JobStatus, tensor: string, files: readonly string[]): Error => {
  const file = files[status.source] ?? '';
  if (status.outcome === 'inputShrank') return new LayerloomError('INPUT_SHRANK', { file, tensor });
  if (status.outcome === 'readFailed')
    return new LayerloomError('READ_FAILED', { file, tensor, reason: status.reason });
  return new Error(`a job of ${tensor} ended ${status.outcome}`);
};
