import { execFileSync } from 'node:child_process';
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openToAppend } from '../../src/core/engine/output/durable.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

describe('a file that is opened to append to it', () => {
  it('keeps what it has', async () => {
    const file = join(temporaryDirectory(), 'log');
    writeFileSync(file, 'one ');
    const opened = await openToAppend(file);
    await opened.write('two');
    await opened.close();
    expect(readFileSync(file, 'utf8')).toBe('one two');
  });

  it('is neither a link nor a pipe, for whose other end nobody waits', async () => {
    const root = temporaryDirectory();
    const [pipe, link, own] = ['pipe', 'link', 'own'].map((name) => join(root, name)) as [
      string,
      string,
      string,
    ];
    execFileSync('mkfifo', [pipe]);
    writeFileSync(own, 'own');
    symlinkSync(own, link);
    for (const path of [pipe, link])
      await expect(openToAppend(path)).rejects.toMatchObject({
        code: 'WRITE_FAILED',
        details: { file: path },
      });
    expect(readFileSync(own, 'utf8')).toBe('own');
  });
});
