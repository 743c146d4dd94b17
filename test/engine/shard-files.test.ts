import { readdirSync } from 'node:fs';
import type * as fs from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { soup } from '../../src/api/merge.js';
import { writePair } from '../fixtures/checkpoints.js';

vi.mock(import('node:fs/promises'), async (original) => {
  const actual = await original();
  /** Files that are written in place fail on close, as shards on a full NFS disk do. */
  const open: typeof fs.open = async (path, flags, mode) => {
    const file = await actual.open(path, flags, mode);
    if (flags !== 'wx+') return file;
    const close = file.close.bind(file);
    file.close = async () => {
      await close();
      throw Object.assign(new Error('ENOSPC: no space left on device, close'), { code: 'ENOSPC' });
    };
    return file;
  };
  return { ...actual, open };
});

it('a shard that cannot be closed ends the merge with WRITE_FAILED, and nothing is left', async () => {
  const { root, task, language } = writePair();
  await expect(soup({ models: [task, language] }, { out: join(root, 'out') })).rejects.toMatchObject({
    code: 'WRITE_FAILED',
    details: { reason: expect.stringContaining('ENOSPC') },
  });
  expect(readdirSync(root).sort()).toEqual(['language', 'task']);
});
