import { closeSync, openSync } from 'node:fs';

/** True for Node's error for a missing module, which also occurs if the module cannot be opened. */
const isModuleMissing = ({ code }: NodeJS.ErrnoException): boolean =>
  code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';

const reachedLimit = (): string | undefined => {
  try {
    closeSync(openSync('/', 'r'));
    return undefined;
  } catch (error) {
    return nameIn(error as NodeJS.ErrnoException);
  }
};

/**
 * Returns `EMFILE` or `ENFILE` from the error's code. Searches the message only if there is no `errno`,
 * because a path in it may contain the name.
 */
const nameIn = ({ errno, code, message }: NodeJS.ErrnoException): string | undefined =>
  /\bE[MN]FILE\b/.exec(errno === undefined ? message : (code ?? ''))?.[0];

/** Returns a message about the limit on open files; undefined for other causes. */
export const fileLimitOf = (error: Error): string | undefined => {
  const name = nameIn(error) ?? (isModuleMissing(error) ? reachedLimit() : undefined);
  return name === undefined
    ? undefined
    : `${name}: too many open files; let more files be open at once (ulimit -n), and run again`;
};
