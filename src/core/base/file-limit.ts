import { closeSync, openSync } from 'node:fs';

/** True for an error of Node by which a module is missing: also where its file could not be opened. */
const isModuleMissing = ({ code }: NodeJS.ErrnoException): boolean =>
  code === 'MODULE_NOT_FOUND' || code === 'ERR_MODULE_NOT_FOUND';

/** The limit on open files that keeps this process from opening one; undefined where it can. */
const reachedLimit = (): string | undefined => {
  try {
    closeSync(openSync('/', 'r'));
    return undefined;
  } catch (error) {
    return nameIn(error as NodeJS.ErrnoException);
  }
};

/** Names the limit: the system's errors have it as their code, which a path in the message may be like. */
const nameIn = ({ errno, code, message }: NodeJS.ErrnoException): string | undefined =>
  /\bE[MN]FILE\b/.exec(errno === undefined ? message : (code ?? ''))?.[0];

/**
 * Returns the reason of an error that a limit on open files has caused, with what to do: whatever met the limit is not at
 * fault, and Node says it in other words of a module or a thread. Undefined for other errors.
 */
export const fileLimitOf = (error: Error): string | undefined => {
  const name = nameIn(error) ?? (isModuleMissing(error) ? reachedLimit() : undefined);
  return name === undefined
    ? undefined
    : `${name}: too many open files; let more files be open at once (ulimit -n), and run again`;
};
