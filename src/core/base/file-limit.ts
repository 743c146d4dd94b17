import { closeSync, openSync } from 'node:fs';

/** True for Node's error of a missing module, which it also raises if the file could not be opened. */
const isModuleMissing = ({ code }: NodeJS.ErrnoException): boolean =>
  code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';

/** Returns the limit on open files if this process has reached it. */
const reachedLimit = (): string | undefined => {
  try {
    closeSync(openSync('/', 'r'));
    return undefined;
  } catch (error) {
    return nameIn(error as NodeJS.ErrnoException);
  }
};

/**
 * Returns the limit's name: from the error's code if it has one, since a path in the message may contain that
 * word.
 */
const nameIn = ({ errno, code, message }: NodeJS.ErrnoException): string | undefined =>
  /\bE[MN]FILE\b/.exec(errno === undefined ? message : (code ?? ''))?.[0];

/**
 * Returns the reason of an error that a limit on open files caused, with what to do; undefined for other
 * errors. Node words it differently for modules and threads, and blames whatever met the limit.
 */
export const fileLimitOf = (error: Error): string | undefined => {
  const name = nameIn(error) ?? (isModuleMissing(error) ? reachedLimit() : undefined);
  return name === undefined
    ? undefined
    : `${name}: too many open files; let more files be open at once (ulimit -n), and run again`;
};
