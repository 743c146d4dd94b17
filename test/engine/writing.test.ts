import { readdirSync, readFileSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import { readFailed, reading, writeFailed, writing } from '../../src/core/base/files/writing.js';

const root = fileURLToPath(new URL('../../src', import.meta.url));

const doors = [
  { code: 'WRITE_FAILED', attempt: writing, failed: writeFailed },
  { code: 'READ_FAILED', attempt: reading, failed: readFailed },
] as const;

describe.each(doors)('$code', ({ code, attempt, failed }) => {
  it('is the error of a system call, and names the file that the caller means', async () => {
    const running = attempt('/the/file', () => open('/no/such/temporary'));
    await expect(running).rejects.toMatchObject({
      code,
      details: { file: '/the/file', reason: 'no such file or directory' },
      cause: { code: 'ENOENT' },
    });
  });

  it('is also the error of a function that throws at once', async () => {
    const running = attempt('/the/file', () => {
      throw new Error('it is not a file');
    });
    await expect(running).rejects.toMatchObject({ code, details: { reason: 'it is not a file' } });
  });

  it('never replaces an error that has a code', async () => {
    const own = new LayerloomError('HUB_UNAVAILABLE', { endpoint: 'hub', reason: 'is down', remedy: 'wait' });
    expect(failed('/the/file', own)).toBe(own);
    await expect(attempt('/the/file', () => Promise.reject(own))).rejects.toBe(own);
    const nested = attempt('/outer', () => attempt('/inner', () => writeFile('/no/such/folder/a', '')));
    await expect(nested).rejects.toMatchObject({ code, details: { file: '/inner' } });
  });

  it('leaves results as they are', async () => {
    expect(await attempt('/the/file', () => Promise.resolve(undefined))).toBeUndefined();
    expect(await attempt('/the/file', () => Promise.resolve(7))).toBe(7);
  });

  it('is made of a cause by no other file', () => {
    const constructions = new RegExp(`LayerloomError\\(\\s*[^;]*?'${code}'[^;]*?;`, 'gs');
    const others = readdirSync(root, { recursive: true, encoding: 'utf8' })
      .filter((file) => /\.tsx?$/.test(file) && file !== 'core/base/files/writing.ts')
      .flatMap((file) =>
        [...readFileSync(join(root, file), 'utf8').matchAll(constructions)]
          .filter(([text]) => /\bcause\b|reasonOf\(/.test(text))
          .map(([text]) => `${file}: ${text}`),
      );
    expect(others).toEqual([]);
  });
});
