import { LayerloomError } from '../../errors.js';

export const unsupported = (format: string, what: string, remedy: string): LayerloomError =>
  new LayerloomError('PARTITION_UNSUPPORTED', { format, what, remedy });
