import { open } from 'node:fs/promises';

/** Milliseconds between two looks at a log, and bytes that one look reads. */
const [lookEveryMs, mostBytes] = [1000, 1 << 20];

/**
 * Watches the log of a program while it grows. One that cannot be read has not grown: the run itself says what went wrong.
 *
 * @param begin size of the log before the run
 * @param onGrown called with what has come to it, perhaps empty, about once a second; each byte is a character
 * @returns ends the watch
 */
export const watchLog = (log: string, begin: number, onGrown: (text: string) => void): (() => void) => {
  let [from, isLooking] = [begin, false];
  const look = async (): Promise<void> => {
    if (isLooking) return;
    isLooking = true;
    const bytes = await readFrom(log, from).catch(() => Buffer.alloc(0));
    isLooking = false;
    from += bytes.length;
    // Figures and words are ASCII: a character of a bar that is cut in two does no harm.
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
