import { LayerloomError, reasonOf } from './errors.js';

/** True for the error of a file that is not there. */
export const isMissing = (cause: unknown): boolean =>
  cause instanceof Error && 'code' in cause && (cause.code === 'ENOENT' || cause.code === 'ENOTDIR');

/** Waits for what is read of a file; undefined where there is none. @throws LayerloomError READ_FAILED */
export const unlessMissing = <T>(file: string, reading: Promise<T>): Promise<T | undefined> =>
  reading.catch((cause: unknown) => {
    if (isMissing(cause)) return undefined;
    throw new LayerloomError('READ_FAILED', { file, reason: reasonOf(cause) }, { cause });
  });
