import { codeOf, LayerloomError, reasonOf } from '../errors/errors.js';
import { fileLimitOf } from '../errors/file-limit.js';
import { optionName } from '../errors/option-name.js';

const failureOf =
  (code: 'READ_FAILED' | 'WRITE_FAILED') =>
  (file: string, cause: unknown): LayerloomError =>
    cause instanceof LayerloomError
      ? cause
      : new LayerloomError(code, { file, reason: reasonOf(cause) }, { cause });

/** Makes an error with the system's reason; returns a LayerloomError unchanged. */
export const readFailed = failureOf('READ_FAILED');

export const writeFailed = failureOf('WRITE_FAILED');

const attempting =
  (failed: typeof readFailed) =>
  async <T>(file: string, action: () => Promise<T>): Promise<T> => {
    try {
      return await action();
    } catch (cause) {
      throw failed(file, cause);
    }
  };

export const reading = attempting(readFailed);

export const writing = attempting(writeFailed);

/** Matches system calls that write. `open` counts as a write only for the codes in `needsRoom`. */
const writes =
  /^(chmod|close|copyfile|fchmod|fdatasync|fsync|ftruncate|futime|link|mkdir|mkdtemp|rename|rm|rmdir|symlink|unlink|utime|write)$/;
const needsRoom = /^(EDQUOT|EEXIST|ENOSPC|EROFS)$/;

/** Converts system errors to LayerloomErrors; returns other errors unchanged. */
export const withCode = (error: unknown): unknown => {
  if (error instanceof LayerloomError || !(error instanceof Error)) return error;
  const { syscall, path, dest, code } = error as NodeJS.ErrnoException & { readonly dest?: string };
  const limit = fileLimitOf(error);
  if (limit !== undefined && code === 'ERR_WORKER_INIT_FAILED')
    return new LayerloomError(
      'THREADS_UNAVAILABLE',
      { reason: limit, remedy: `use fewer (${optionName('threads')})` },
      { cause: error },
    );
  const { missing } = /^Cannot find (?:module|package) '(?<missing>[^']+)'/.exec(error.message)?.groups ?? {};
  if (limit !== undefined && missing !== undefined) return readFailed(missing, error);
  if (syscall === undefined || path === undefined || syscall.startsWith('spawn')) return error;
  const isWrite = writes.test(syscall) || (syscall === 'open' && needsRoom.test(codeOf(error) ?? ''));
  return (isWrite ? writeFailed : readFailed)(dest ?? path, error);
};
