import { open } from 'node:fs/promises';

/** Milliseconds between reads of a log, and maximum bytes per read. */
const [lookEveryMs, mostBytes] = [1000, 1 << 20];

/**
 * Reports what a run adds to its log. An unreadable log counts as unchanged, because the run itself reports
 * the error.
 *
 * @param begin size of the log before the run
 * @param onGrown called about once a second with the new text as Latin-1, which may be empty
 * @returns a function that ends the watch
 */
export const watchLog = (log: string, begin: number, onGrown: (text: string) => void): (() => void) => {
  let [from, isLooking] = [begin, false];
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    const bytes = await readFrom(log, from).catch(() => Buffer.alloc(0));
    isLooking = false;
    from += bytes.length;
    // Callers read only ASCII, so a cut character of a progress bar does no harm.
    onGrown(bytes.toString('latin1'));
  };
  const timer = setInterval(() => void look(), lookEveryMs);
  return () => clearInterval(timer);
};

const readFrom = async (path: string, from: number): Promise<Buffer> => {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(mostBytes), 0, mostBytes, from);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
};
