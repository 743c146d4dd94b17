import type { FileHandle } from 'node:fs/promises';
import { open } from 'node:fs/promises';
import { constants } from 'node:os';
import { describe, expect, it } from 'vitest';
import { codeOf, LayerloomError, reasonOf, withPath } from '../../src/core/base/errors/errors.js';
import { withCode } from '../../src/core/base/files/writing.js';
import { readBlock } from '../../src/core/models/checkpoint/files/read-block.js';

/** Node's error for a number that libuv does not name. */
const unnamed = (name: 'EDQUOT' | 'ESTALE') => {
  const errno = -constants.errno[name];
  const text = `Unknown system error ${errno}`;
  return Object.assign(new Error(`${text}: ${text}, write`), { errno, code: text, syscall: 'write' });
};

describe('an error of the system', () => {
  it('is named where libuv has no name for it: full quotas, and files that NFS has lost', () => {
    expect([codeOf(unnamed('EDQUOT')), reasonOf(unnamed('EDQUOT'))]).toEqual([
      'EDQUOT',
      'disk quota exceeded (EDQUOT)',
    ]);
    expect(codeOf(unnamed('ESTALE'))).toBe('ESTALE');
  });

  it('has a code and its file, also one of a descriptor', async () => {
    const missing = await open('/no/such/file').catch(withCode);
    expect(missing).toBeInstanceOf(LayerloomError);
    expect(missing).toMatchObject({ code: 'READ_FAILED', details: { file: '/no/such/file' } });
    const full = withCode(withPath(unnamed('EDQUOT'), '/full/file'));
    expect(full).toMatchObject({ code: 'WRITE_FAILED', details: { file: '/full/file' } });
    const other = new TypeError('no error of the system');
    expect(withCode(withPath(other, '/file'))).toBe(other);
  });
});

describe('a block of a file', () => {
  it('is read whole, however few bytes come at a time', async () => {
    const content = Buffer.from('a block in parts');
    const file = {
      read: async (buffer: Buffer, offset: number, length: number, position: number) => ({
        bytesRead: content.copy(
          buffer,
          offset,
          position,
          Math.min(position + Math.min(length, 3), content.length),
        ),
      }),
    } as unknown as FileHandle;
    expect((await readBlock(file, Buffer.alloc(7), 2)).toString()).toBe('block i');
    expect((await readBlock(file, Buffer.alloc(99), 8)).toString()).toBe('in parts');
  });
});
