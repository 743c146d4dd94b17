import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { contentOf, finish, keyOf, newStore, partials, publish } from '../fixtures/store.js';

/** A separate small file system; undefined if this user may not mount one. */
const smallDisk = (): string | undefined => {
  const directory = join(temporaryDirectory(), 'disk');
  mkdirSync(directory);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k', 'none', directory], { stdio: 'ignore' });
  } catch {
    return undefined;
  }
  onTestFinished(() => void execFileSync('umount', ['-l', directory]));
  return directory;
};

const fill = (path: string): void => {
  const { bavail, bsize } = statfsSync(join(path, '..'));
  expect(() => writeFileSync(path, Buffer.alloc(bavail * bsize + 1))).toThrow(/ENOSPC/);
};

const [a, b, c] = [keyOf('a'), keyOf('b'), keyOf('c')];

describe('a full disk', () => {
  it('leaves what is finished, and can be made room on', async ({ skip }) => {
    const disk = smallDisk();
    if (disk === undefined) return skip('only root may mount a small disk');
    const { store, paths } = await newStore(join(disk, 'store'));
    await publish(store, a, c);

    const claim = await store.claim(b);
    writeFileSync(claim?.partialPath ?? '', contentOf(b));
    fill(join(disk, 'others'));
    await expect(claim?.publish(finish(b))).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    await claim?.release();
    expect([partials(paths), existsSync(store.pathOf(b))]).toEqual([[], false]);
    expect(await store.lookup(b)).toBeUndefined();
    expect(await store.lookup(a, { deep: true })).toBeDefined();
    expect(readFileSync(store.pathOf(a)).equals(contentOf(a))).toBe(true);
    fill(join(disk, 'more'));

    // A claim has room, even if its text has not: others respect it.
    const empty = await store.claim(b);
    expect(readFileSync(paths.claim(b), 'utf8')).toBe('');
    expect(await store.claim(b)).toBeUndefined();
    await empty?.release();
    expect(existsSync(paths.claim(b))).toBe(false);

    expect((await store.gc()).removed.map(({ key }) => key).sort()).toEqual([a, c].sort());
    expect(partials(paths)).toEqual([]);
    await publish(store, b);
    expect(await store.lookup(b, { deep: true })).toBeDefined();
  });
});
