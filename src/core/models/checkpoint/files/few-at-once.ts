/** Maximum files at a time: twice libuv's number of threads. */
const most = 8;

const waiting: (() => void)[] = [];
let running = 0;

/**
 * Runs work that opens and closes a file, at most 8 at a time in call order, because open files are limited.
 * Such work must not call this function, which could deadlock.
 */
export const withFewFiles = async <T>(work: () => Promise<T>): Promise<T> => {
  if (running === most) await new Promise<void>((begin) => waiting.push(begin));
  else running += 1;
  try {
    return await work();
  } finally {
    const next = waiting.shift();
    if (next === undefined) running -= 1;
    else next();
  }
};
