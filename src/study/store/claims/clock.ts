import { constants } from 'node:fs';
import { writing } from '../../../core/base/files/writing.js';
import { withFile } from '../../../core/engine/output/durable.js';

/** Milliseconds by the clock that stamps the store's files. */
export type StoreClock = () => Promise<number>;

/**
 * Returns the store's time, by writing to a file: clocks of hosts and file servers may differ by minutes.
 * Uses write(2), because utimes(2) would send the host's time. Refuses links, which may lead anywhere.
 */
const touch = (path: string): Promise<number> =>
  writing(path, () =>
    withFile(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, async (file) => {
      await file.write('.', 0);
      // NFS reports the server's time only after a sync.
      await file.sync();
      return (await file.stat()).mtimeMs;
    }),
  );

/** Returns a clock that reads the time once, when first called. */
export const clockAt = (path: string): StoreClock => {
  let now: Promise<number> | undefined;
  return () => {
    now ??= touch(path);
    return now;
  };
};
