import {
  chmodSync,
  copyFileSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { keepingTimes } from '../fixtures/overwrite.js';
import { contentOf, keyOf, newStore, publish } from '../fixtures/store.js';

const [a, b, c] = [keyOf('a'), keyOf('b'), keyOf('c')];

const flip = (path: string): void => {
  chmodSync(path, 0o644);
  const content = readFileSync(path);
  content[500] = (content[500] ?? 0) ^ 1;
  writeFileSync(path, content);
  chmodSync(path, 0o444);
};

describe('verifying a store', () => {
  it('finds a flipped byte, a missing file and a short one, and has them computed anew', async () => {
    const { store, paths } = await newStore();
    const outside = join(temporaryDirectory(), 'a');
    await publish(store, a, b, c, keyOf('d'));
    expect(await store.verify()).toMatchObject({ shards: 4, damaged: [], recorded: 0, warnings: [] });
    linkSync(paths.shard(a), outside);
    flip(paths.shard(a));
    rmSync(paths.shard(b));
    chmodSync(paths.shard(c), 0o644);
    truncateSync(paths.shard(c), 3);
    const progress: number[] = [];
    const { damaged } = await store.verify({ threads: 2, onProgress: ({ done }) => progress.push(done) });
    expect(progress).toEqual([1, 2, 3, 4]);
    expect(new Map(damaged.map(({ key, reason }) => [key, reason]))).toEqual(
      new Map([
        [a, expect.stringMatching(/^has SHA-256 \w{12}… instead of \w{12}…$/)],
        [b, 'is missing'],
        [c, expect.stringMatching(/^has 3 bytes instead of \d+$/)],
      ]),
    );
    expect(damaged.find(({ key }) => key === a)?.links).toBe(1);
    for (const key of [a, b, c]) {
      expect(await store.lookup(key)).toBeUndefined();
      await publish(store, key);
    }
    expect((await store.verify()).damaged).toEqual([]);
    expect(readFileSync(store.pathOf(a)).equals(contentOf(a))).toBe(true);
    expect(statSync(outside).ino).not.toBe(statSync(store.pathOf(a)).ino);
  });

  it('is not needed for a shard that was damaged through a hard link: it is compared before it is used again', async () => {
    const { store, paths } = await newStore();
    const outside = join(temporaryDirectory(), 'a');
    await publish(store, a, b);
    await store.link(a, outside, 'hard');
    flip(outside);
    await expect(store.link(a, `${outside}-2`, 'hard')).rejects.toMatchObject({
      code: 'STORE_SHARD_MISSING',
    });
    expect(await store.lookup(a)).toBeUndefined();
    expect((await store.list()).shards.map(({ state }) => state).sort()).toEqual(['damaged', 'whole']);
    await publish(store, a);
    expect(readFileSync(store.pathOf(a)).equals(contentOf(a))).toBe(true);
    // Only touched: it is compared once, and its record then has the new time.
    utimesSync(paths.shard(b), 1, 1);
    expect(await store.lookup(b)).toMatchObject({ mtimeNs: '1000000000' });
    await store.link(b, `${outside}-b`, 'hard');
  });

  it('is not needed for a store that was copied', async () => {
    const { store, paths } = await newStore();
    await publish(store, a);
    copyFileSync(paths.shard(a), `${paths.shard(a)}.copy`);
    renameSync(`${paths.shard(a)}.copy`, paths.shard(a));
    expect(await store.lookup(a)).toMatchObject({ inode: String(statSync(paths.shard(a)).ino) });
  });

  it('takes back its verdict on a file that has been restored', async () => {
    const { store } = await newStore();
    await publish(store, a);
    flip(store.pathOf(a));
    expect((await store.verify()).damaged).toHaveLength(1);
    expect((await store.verify()).damaged).toHaveLength(1);
    expect((await store.list()).shards).toMatchObject([{ state: 'damaged' }]);
    flip(store.pathOf(a));
    expect((await store.verify()).damaged).toEqual([]);
    expect(await store.lookup(a)).toBeDefined();
  });

  it('gives a checksum to what was published without one', async () => {
    const { store } = await newStore();
    const claim = await store.claim(a);
    writeFileSync(claim?.partialPath ?? '', contentOf(a));
    await claim?.publish({ bytes: contentOf(a).length });
    expect(await store.verify()).toMatchObject({ shards: 1, recorded: 1, damaged: [] });
    expect(await store.verify()).toMatchObject({ shards: 1, recorded: 0, damaged: [] });
    flip(store.pathOf(a));
    expect(await store.verify()).toMatchObject({ damaged: [{ key: a }] });
  });

  it('says nothing of a missing shard that another process computes or removes, and leaves its record alone', async () => {
    const { store, paths } = await newStore();
    await publish(store, a);
    const record = readFileSync(paths.record(a), 'utf8');
    rmSync(paths.shard(a));
    await using _claim = await store.claim(a);
    expect((await store.verify()).damaged).toHaveLength(0);
    expect(readFileSync(paths.record(a), 'utf8')).toBe(record);
  });

  it('can be done of one shard, when it is looked up', async () => {
    const { store } = await newStore();
    await publish(store, a, b);
    // With its time restored, only its bytes show the change.
    keepingTimes(store.pathOf(a), () => flip(store.pathOf(a)));
    expect(await store.lookup(a)).toBeDefined();
    expect(await store.lookup(a, { deep: true })).toBeUndefined();
    expect(await store.lookup(b, { deep: true })).toBeDefined();
    await publish(store, a);
    expect(await store.lookup(a, { deep: true })).toBeDefined();
  });

  it('can be interrupted', async () => {
    const { store } = await newStore();
    await publish(store, a);
    await expect(store.verify({ signal: AbortSignal.abort() })).rejects.toMatchObject({
      code: 'INTERRUPTED',
    });
  });
});
