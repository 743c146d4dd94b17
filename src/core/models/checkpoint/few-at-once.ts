/** Twice the number of libuv's threads. */
const most = 8;

const waiting: (() => void)[] = [];
let running = 0;

/**
 * Runs work that opens a file to look at it and closes it: few at once, in the order in which they are asked for, since a
 * process may open few files at once and a checkpoint may have any number. Such work may not wait for more of it.
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
