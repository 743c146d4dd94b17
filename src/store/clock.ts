import { constants } from 'node:fs';
import { withFile } from '../engine/output/durable.js';
import { writing } from './failures.js';

/** The present, in milliseconds, by the clock that gives the store's files their times. */
export type StoreClock = () => Promise<number>;

/**
 * Touches a file in the store and looks when that was. A host's own clock may be minutes off from that of a file server or of another host; two times
 * that the file system gave can be compared. Written, not utimes(2): Node would send the host's time.
 */
const touch = (path: string): Promise<number> =>
  writing(path, () =>
    withFile(path, constants.O_RDWR | constants.O_CREAT, async (file) => {
      await file.write('.', 0);
      // NFS tells the time that the server gave once the write is there.
      await file.sync();
      return (await file.stat()).mtimeMs;
    }),
  );

/** A clock that is touched when first asked and then stands still: for one look at any number of claims. */
export const clockAt = (path: string): StoreClock => {
  let now: Promise<number> | undefined;
  return () => {
    now ??= touch(path);
    return now;
  };
};
