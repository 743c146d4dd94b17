import { existsSync, readFileSync, statfsSync } from 'node:fs';
import { totalmem } from 'node:os';
import { describe, expect, it } from 'vitest';
import { checkSpace } from '../../src/core/models/checkpoint/files/disk-space.js';

const memory = '/dev/shm';
const { bavail, bsize } = existsSync(memory) ? statfsSync(memory) : { bavail: 0, bsize: 0 };
const promised = bavail * bsize;
const swap = existsSync('/proc/meminfo')
  ? 1024 * Number(/^SwapTotal: +(\d+)/m.exec(readFileSync('/proc/meminfo', 'utf8'))?.[1])
  : 0;

/** More than the machine's memory, less than the file system promises. */
const between = totalmem() + swap + 1;

describe('the room of a file system', () => {
  it('is what it has free', async () => {
    await checkSpace('/', 'out', 1);
    await expect(checkSpace('/', 'out', 1e18)).rejects.toMatchObject({
      code: 'DISK_SPACE',
      details: { out: 'out', needed: 1e18 },
    });
  });

  it.skipIf(promised === 0)('is in memory no more than the memory that is free', async () => {
    await checkSpace(memory, 'out', 1);
    await expect(checkSpace(memory, 'out', Math.min(promised, between))).rejects.toMatchObject({
      code: 'DISK_SPACE',
    });
  });
});
