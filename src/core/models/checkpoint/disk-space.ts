import { readFile, statfs } from 'node:fs/promises';
import { freemem } from 'node:os';
import { LayerloomError } from '../../base/errors.js';

/** What Linux's statfs says of a file system in memory. */
const tmpfs = 0x01021994;

/**
 * Returns the bytes of memory that are free, with those that caches would give back and swap: a file system in memory
 * may promise more. Of a container no more than its limit; what of that is used is not known without its caches.
 */
const freeMemory = async (): Promise<number> => {
  const swap = /^SwapFree: +(?<kilobytes>\d+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8'));
  const free = freemem() + 1024 * Number(swap?.groups?.['kilobytes'] ?? 0);
  return Math.min(free, process.constrainedMemory?.() || free);
};

/**
 * Checks that a file system has `needed` free bytes, one in memory also the memory. Quotas are not checked; exceeding one is WRITE_FAILED
 * later.
 *
 * @param directory an existing directory of that file system
 * @param out the output, for the error's details
 * @throws LayerloomError DISK_SPACE
 */
export const checkSpace = async (directory: string, out: string, needed: number): Promise<void> => {
  const { bavail, bsize, type } = await statfs(directory);
  const room = bavail * bsize;
  const available = type === tmpfs ? Math.min(room, await freeMemory()) : room;
  if (needed > available) throw new LayerloomError('DISK_SPACE', { out, needed, available });
};
