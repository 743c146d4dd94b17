import { type BigIntStats, constants, read } from 'node:fs';
import { open } from 'node:fs/promises';
import { promisify } from 'node:util';

export interface OpenInput extends AsyncDisposable {
  /** For native jobs. */
  readonly fd: number;
  /** Reads at most `length` bytes; none only at the file's end. */
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number; readonly buffer: Buffer }>;
  stat(options: {
    readonly bigint: true;
  }): Promise<Pick<BigIntStats, 'size' | 'mtimeNs' | 'ctimeNs' | 'nlink' | 'dev' | 'ino' | 'isFile'>>;
  close(): Promise<void>;
}

/** Files in another process's memory, by paths that do not exist. */
const inMemory = new Map<string, OpenInput>();

export const isInMemory = (path: string): boolean => inMemory.has(path);

/**
 * Makes `openInput` open a file in the memory of another process.
 *
 * @param memory descriptor of the process's `/proc/PID/mem`
 * @param parts pairs of a number of bytes and their address
 * @param fd the number that native code gave the file (`openRemote`)
 */
export const addInMemory = (
  path: string,
  memory: number,
  parts: readonly (readonly [number, number])[],
  fd: number,
): void => {
  const size = BigInt(parts.reduce((total, [bytes]) => total + bytes, 0));
  const now = BigInt(Date.now()) * 1_000_000n;
  const stats = { size, mtimeNs: now, ctimeNs: now, nlink: 1n, dev: 0n, ino: BigInt(fd), isFile: () => true };
  const nothing = async () => undefined;
  inMemory.set(path, {
    fd,
    async read(buffer, offset, length, position) {
      let left = position;
      for (const [bytes, address] of parts) {
        if (left < bytes) {
          const most = Math.min(length, bytes - left);
          // Hides the system's reason, which is a disk error.
          const found = await promisify(read)(memory, buffer, offset, most, address + left).catch(() => ({
            bytesRead: 0,
            buffer,
          }));
          if (found.bytesRead === 0 && most > 0) throw new Error('its tensors are no longer in memory');
          return found;
        }
        left -= bytes;
      }
      return { bytesRead: 0, buffer };
    },
    stat: async () => stats,
    close: nothing,
    [Symbol.asyncDispose]: nothing,
  });
};

export const removeInMemory = (path: string): boolean => inMemory.delete(path);

/** Opens a file of weights. Does not block on a FIFO. @throws system errors */
export const openInput = async (path: string): Promise<OpenInput> =>
  inMemory.get(path) ?? (await open(path, constants.O_RDONLY | constants.O_NONBLOCK));
