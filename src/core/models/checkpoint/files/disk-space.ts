import { readFile, statfs } from 'node:fs/promises';
import { freemem } from 'node:os';
import { LayerloomError } from '../../../base/errors/errors.js';

const tmpfs = 0x01021994;

/**
 * Returns free memory plus swap, because tmpfs may promise more. In a container, returns at most its limit:
 * usage is unknown, because caches count as used.
 */
const freeMemory = async (): Promise<number> => {
  const swap = /^SwapFree: +(?<kilobytes>\d+) kB$/m.exec(await readFile('/proc/meminfo', 'utf8'));
  const free = freemem() + 1024 * Number(swap?.groups?.['kilobytes'] ?? 0);
  return Math.min(free, process.constrainedMemory?.() || free);
};

/**
 * Checks that a file system has `needed` free bytes; for tmpfs, that memory has too. Does not check quotas,
 * which fail later with WRITE_FAILED.
 *
 * @throws DISK_SPACE
 */
export const checkSpace = async (directory: string, out: string, needed: number): Promise<void> => {
  const { bavail, bsize, type } = await statfs(directory);
  const room = bavail * bsize;
  const available = type === tmpfs ? Math.min(room, await freeMemory()) : room;
  if (needed > available) throw new LayerloomError('DISK_SPACE', { out, needed, available });
};
