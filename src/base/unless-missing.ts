import { LayerloomError, reasonOf } from './errors.js';

/** Waits for what is read of a file; undefined where there is none. @throws LayerloomError READ_FAILED */
export const unlessMissing = <T>(file: string, reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((cause: NodeJS.ErrnoException) => {
    if (cause.code === 'ENOENT' || cause.code === 'ENOTDIR') return undefined;
    throw new LayerloomError('READ_FAILED', { file, reason: reasonOf(cause) }, { cause });
  });
