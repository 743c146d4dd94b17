import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { Link } from '../../src/index.js';
import { ShardStore } from '../../src/study/store/shard-store.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { onOtherFileSystem } from '../fixtures/other-file-system.js';
import { contentOf, finish, keyOf, newStore, partials, publish } from '../fixtures/store.js';

const key = keyOf('a');

describe('a store', () => {
  it('is made where there is nothing, and found again', async () => {
    const { store } = await newStore();
    await publish(store, key);
    const again = await ShardStore.open(store.directory, { create: true });
    expect(await again.lookup(key)).toMatchObject({ key, inputs: ['math-1', 'swh-1'] });
  });

  it('is made once by many processes at once', async () => {
    const directory = join(temporaryDirectory(), 'deep', 'store');
    const stores = await Promise.all(Array.from({ length: 20 }, () => newStore(directory)));
    await publish((stores[0] as { store: ShardStore }).store, key);
    for (const { store } of stores) expect(await store.lookup(key)).toBeDefined();
  });

  it.each([
    [
      'holds something else',
      (directory: string) => writeFileSync(join(directory, 'thesis.tex'), ''),
      /is neither a store nor empty/,
    ],
    [
      'is of a newer format',
      (directory: string) => writeFileSync(join(directory, 'layerloom-store.json'), '{"layerloomStore": 2}'),
      /format 2.*use a newer version/,
    ],
    [
      'has a marker of another program',
      (directory: string) => writeFileSync(join(directory, 'layerloom-store.json'), '{}'),
      /not one that layerloom wrote/,
    ],
  ])('is refused when the directory %s', async (_, prepare, message) => {
    const directory = temporaryDirectory();
    prepare(directory);
    const opening = ShardStore.open(directory, { create: true });
    await expect(opening).rejects.toMatchObject({ code: 'STORE_INVALID', exitCode: 3 });
    await expect(opening).rejects.toThrow(message);
  });

  it('is not made by who only looks', async () => {
    const directory = join(temporaryDirectory(), 'store');
    await expect(ShardStore.open(directory)).rejects.toThrow(/no such store/);
    await expect(ShardStore.open(temporaryDirectory())).rejects.toThrow(/is not a store/);
    expect(existsSync(directory)).toBe(false);
  });

  it('takes no key that leads elsewhere', async () => {
    const { store } = await newStore();
    await expect(store.lookup('../../etc/passwd')).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
  });
});

describe('a shard', () => {
  it('is there whole, read-only and with its record, or not at all', async () => {
    const { store, paths } = await newStore();
    const claim = await store.claim(key);
    writeFileSync(claim?.partialPath ?? '', contentOf(key));
    expect(await store.lookup(key)).toBeUndefined();
    expect(existsSync(store.pathOf(key))).toBe(false);
    const record = await claim?.publish(finish(key));
    expect(await store.lookup(key)).toEqual(record);
    expect(readFileSync(store.pathOf(key)).equals(contentOf(key))).toBe(true);
    expect(statSync(store.pathOf(key)).mode & 0o777).toBe(0o444);
    expect([partials(paths), existsSync(paths.claim(key))]).toEqual([[], false]);
  });

  it('is synced by the descriptor that wrote it, which is told of writes that failed', async () => {
    const { store } = await newStore();
    const claim = await store.claim(key);
    const file = await open(claim?.partialPath ?? '', 'wx+');
    await file.write(contentOf(key));
    vi.spyOn(file, 'sync').mockRejectedValueOnce(
      Object.assign(new Error('EIO: i/o error, fsync'), { code: 'EIO' }),
    );
    await expect(claim?.publish(finish(key), file)).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    await claim?.release();
    expect(await store.lookup(key)).toBeUndefined();
  });

  it('does not count when a crash came before its record, or cut it short', async () => {
    const { store, paths } = await newStore();
    await publish(store, key);
    const record = readFileSync(paths.record(key));
    rmSync(paths.record(key));
    expect(await store.lookup(key)).toBeUndefined();
    writeFileSync(paths.record(key), record.subarray(0, 20));
    expect(await store.lookup(key)).toBeUndefined();
    writeFileSync(paths.record(key), record);
    rmSync(paths.shard(key));
    writeFileSync(paths.shard(key), 'half');
    expect(await store.lookup(key)).toBeUndefined();
    await publish(store, key);
    expect(await store.lookup(key)).toBeDefined();
    expect(readFileSync(store.pathOf(key)).equals(contentOf(key))).toBe(true);
  });

  it('is not published with another size than was said', async () => {
    const { store, paths } = await newStore();
    const claim = await store.claim(key);
    writeFileSync(claim?.partialPath ?? '', 'half');
    await expect(claim?.publish(finish(key))).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    expect(await store.claim(key)).toBeUndefined();
    await claim?.release();
    expect([await store.lookup(key), partials(paths)]).toEqual([undefined, []]);
    expect(await store.claim(key)).toBeDefined();
  });

  it('is not claimed once it is published', async () => {
    const { store } = await newStore();
    await publish(store, key);
    expect(await store.claim(key)).toBeUndefined();
    expect(await store.waitFor([key, keyOf('b')])).toEqual([key, keyOf('b')]);
  });

  it('stays when one that was thought dead publishes it again', async () => {
    const { store, paths } = await newStore();
    const claim = await store.claim(key);
    writeFileSync(claim?.partialPath ?? '', contentOf(key));
    rmSync(paths.claim(key));
    await publish(store, key);
    const { ino } = statSync(store.pathOf(key));
    await claim?.publish(finish(key));
    expect(statSync(store.pathOf(key)).ino).toBe(ino);
    expect(partials(paths)).toEqual([]);
  });
});

describe('a link', () => {
  it.each<[Link, (target: string, shard: string) => void]>([
    ['hard', (target, shard) => expect(statSync(target).ino).toBe(statSync(shard).ino)],
    ['symbolic', (target, shard) => expect(readlinkSync(target)).toBe(shard)],
    ['copy', (target) => expect(lstatSync(target).mode & 0o200).toBe(0o200)],
  ])('by %s has the shard’s bytes, and replaces what was there', async (link, expectLink) => {
    const { store } = await newStore();
    await publish(store, key);
    const target = join(temporaryDirectory(), 'model.safetensors');
    writeFileSync(target, 'former');
    expect(await store.link(key, target, link)).toEqual({
      link,
      sha256: createHash('sha256').update(contentOf(key)).digest('hex'),
      warnings: [],
    });
    expect(readFileSync(target).equals(contentOf(key))).toBe(true);
    expectLink(target, store.pathOf(key));
  });

  it('across file systems is refused where it must be hard, and says what else there is', async ({
    skip,
  }) => {
    const { store } = await newStore();
    await publish(store, key);
    const elsewhere = onOtherFileSystem() ?? skip('there is no other file system');
    const linking = store.link(key, join(elsewhere, 'a'), 'hard');
    await expect(linking).rejects.toMatchObject({ code: 'LINK_REFUSED' });
    await expect(linking).rejects.toThrow(/use `link: 'symbolic'`, or copy/);
    expect((await store.link(key, join(elsewhere, 'a'), 'symbolic')).link).toBe('symbolic');
  });

  it('to what is not there is refused, whatever the link', async () => {
    const { store } = await newStore();
    for (const link of ['hard', 'symbolic', 'copy'] as const)
      await expect(store.link(key, join(temporaryDirectory(), 'a'), link)).rejects.toMatchObject({
        code: 'STORE_SHARD_MISSING',
      });
  });

  it('becomes a copy where the shard can have no more names', async () => {
    vi.doMock('node:fs/promises', async (original) => ({
      ...(await original<typeof import('node:fs/promises')>()),
      link: () =>
        Promise.reject(Object.assign(new Error('EMLINK: too many links, link'), { code: 'EMLINK' })),
    }));
    onTestFinished(() => {
      vi.doUnmock('node:fs/promises');
      vi.resetModules();
    });
    vi.resetModules();
    const { store } = await newStore();
    await publish(store, key);
    const { ShardStore } = await import('../../src/study/store/shard-store.js');
    const mocked = await ShardStore.open(store.directory);
    const target = join(temporaryDirectory(), 'a');
    const { link, warnings } = await mocked.link(key, target, 'hard');
    expect([link, warnings]).toEqual([
      'copy',
      [expect.stringContaining('as many hard links as its file system allows')],
    ]);
    expect(readFileSync(target).equals(contentOf(key))).toBe(true);
  });
});
