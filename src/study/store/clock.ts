import { constants } from 'node:fs';
import { withFile } from '../../core/engine/output/durable.js';
import { writing } from './failures.js';

/** Returns the time in milliseconds, by the clock that sets the times of the store's files. */
export type StoreClock = () => Promise<number>;

/**
 * Returns the file system's time, by writing to a file of the store. Clocks of hosts and file servers may
 * differ by minutes, whereas two times of one file system can be compared. Uses write(2), since with
 * utimes(2) Node would send the host's time. A link is not followed: in a folder of somebody else's it leads anywhere.
 */
const touch = (path: string): Promise<number> =>
  writing(path, () =>
    withFile(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, async (file) => {
      await file.write('.', 0);
      // NFS reports the server's time only after the write has reached it.
      await file.sync();
      return (await file.stat()).mtimeMs;
    }),
  );

/**
 * Returns a clock that reads the time once, on the first call: for examining any number of claims at the same
 * moment.
 */
export const clockAt = (path: string): StoreClock => {
  let now: Promise<number> | undefined;
  return () => {
    now ??= touch(path);
    return now;
  };
};
