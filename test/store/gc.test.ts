import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import type { ShardStore } from '../../src/index.js';
import { forget } from '../../src/study/store/experiments.js';
import type { StorePaths } from '../../src/study/store/files/paths.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import {
  contentOf,
  finish,
  keyOf,
  newStore,
  partials,
  publish,
  startProcess,
  writeClaim,
} from '../fixtures/store.js';

const [a, b, c] = [keyOf('a'), keyOf('b'), keyOf('c')];

const killHolder = async ({ directory }: ShardStore): Promise<void> => {
  const go = join(temporaryDirectory(), 'go');
  writeFileSync(go, '');
  const { child, lines, ended } = startProcess('claim', directory, go, a, b);
  await lines.next();
  child.kill('SIGKILL');
  await ended;
};

const filled = async (): Promise<{ store: ShardStore; paths: StorePaths; root: string }> => {
  const { store, paths } = await newStore();
  await publish(store, a, b, c);
  return { store, paths, root: temporaryDirectory() };
};

const there = async (store: ShardStore): Promise<string[]> => {
  const { shards } = await store.list();
  for (const { key } of shards) expect(readFileSync(store.pathOf(key)).equals(contentOf(key))).toBe(true);
  return shards.map(({ key }) => key);
};

const removedBy = async (store: ShardStore): Promise<string[]> =>
  (await store.gc()).removed.map(({ key }) => key).sort();

describe('collecting garbage', () => {
  it('keeps what is hard linked, and what it is told to keep', async () => {
    const { store, root } = await filled();
    await store.link(a, join(root, 'a'), 'hard');
    const { removed, bytesRemoved, kept } = await store.gc({ keep: [b] });
    expect([removed, bytesRemoved, kept]).toEqual([
      [{ key: c, bytes: contentOf(c).length }],
      contentOf(c).length,
      2,
    ]);
    expect(await there(store)).toEqual([a, b].sort());
    rmSync(join(root, 'a'));
    expect(await removedBy(store)).toEqual([a, b].sort());
    expect(partials({ partials: join(store.directory, 'partial') } as StorePaths)).toEqual([]);
  });

  it('says what it would do and does nothing when run dry', async () => {
    const { store, paths } = await filled();
    await writeClaim(paths, keyOf('d'), { started: 'before' });
    writeFileSync(paths.partialShard(keyOf('d'), '0'.repeat(36)), 'half');
    const { removed, leftovers } = await store.gc({ dryRun: true });
    expect(removed).toHaveLength(3);
    expect(leftovers).toEqual({ claims: 1, partials: 1, bytes: 4 });
    expect(await there(store)).toHaveLength(3);
    expect([existsSync(paths.claim(keyOf('d'))), partials(paths).length]).toEqual([true, 1]);
    expect((await store.gc()).leftovers).toEqual(leftovers);
    expect([existsSync(paths.claim(keyOf('d'))), partials(paths)]).toEqual([false, []]);
  });

  it('keeps what experiments name until their directory is gone', async () => {
    const { store, root } = await filled();
    const merges = [
      { path: 'default', keys: [a] },
      { path: 'grid/b3', keys: [a, b] },
    ];
    await store.registerExperiment(root, { merges, finished: false });
    expect(await removedBy(store)).toEqual([c]);
    for (const { path } of merges) mkdirSync(join(root, path), { recursive: true });
    await store.link(a, join(root, 'default', 'a'), 'symbolic');
    await store.registerExperiment(root, { merges, finished: true });
    expect(await removedBy(store)).toEqual([]);
    rmSync(join(root, 'grid'), { recursive: true });
    expect(await removedBy(store)).toEqual([b]);
    expect(readFileSync(join(root, 'default', 'a')).equals(contentOf(a))).toBe(true);
    rmSync(root, { recursive: true });
    const { removed, experiments } = await store.gc();
    expect(removed.map(({ key }) => key)).toEqual([a]);
    expect(experiments).toEqual([{ directory: root, host: hostname(), state: 'gone' }]);
    expect(readdirSync(join(store.directory, 'experiments'))).toEqual([]);
  });

  it('forgets an experiment that another collection is forgetting', async () => {
    const { paths } = await filled();
    await expect(forget(paths, join(paths.experiments, 'abc.json'))).resolves.toBeUndefined();
  });

  it('keeps what an experiment of another host names, which it cannot see', async () => {
    const { store, paths, root } = await filled();
    await store.registerExperiment(root, { merges: [{ path: 'default', keys: [a] }], finished: true });
    const path = paths.experiment(hostname(), root);
    const registration = JSON.parse(readFileSync(path, 'utf8'));
    const write = (change: object) =>
      writeFileSync(path, JSON.stringify({ ...registration, host: 'node-7', ...change }));
    write({ directory: '/scratch/of/node-7' });
    expect((await store.gc({ keep: [b, c] })).experiments).toMatchObject([{ state: 'elsewhere' }]);
    // This host has a directory at that path, but a different one.
    write({ inode: 1 });
    expect((await store.gc({ keep: [b, c] })).experiments).toMatchObject([{ state: 'elsewhere' }]);
    // The same directory, on a shared file system.
    write({});
    const { experiments, removed } = await store.gc({ keep: [b, c], dryRun: true });
    expect([experiments, removed]).toMatchObject([[{ state: 'here' }], [{ key: a }]]);
    expect(await there(store)).toHaveLength(3);
  });

  it('removes nothing when it cannot tell what an experiment needs', async () => {
    const { store, paths } = await filled();
    writeFileSync(join(paths.experiments, 'spoilt.json'), '{"merges": 7}');
    await expect(store.gc()).rejects.toMatchObject({ code: 'STORE_INVALID' });
    expect(await there(store)).toHaveLength(3);
  });

  it('removes nothing under a live claim', async () => {
    const { store, paths } = await filled();
    await writeClaim(paths, a, { host: 'node-7', place: 'node-7' });
    const claim = await store.claim(keyOf('d'));
    writeFileSync(claim?.partialPath ?? '', contentOf(keyOf('d')));
    const old = new Date(Date.now() - 1e6);
    utimesSync(claim?.partialPath ?? '', old, old);
    expect(await removedBy(store)).toEqual([b, c].sort());
    await claim?.publish(finish(keyOf('d')));
    expect(await there(store)).toEqual([a, keyOf('d')].sort());
  });

  it('removes what a killed process left, at once', async () => {
    const { store, paths } = await newStore();
    await killHolder(store);
    expect((await store.gc()).leftovers).toEqual({ claims: 2, partials: 2, bytes: 30 });
    expect([partials(paths), readdirSync(paths.claims)]).toEqual([[], []]);
  });

  it('removes it also where a collection before it was cut short', async () => {
    const { store, paths } = await newStore();
    await killHolder(store);
    // A directory instead of a file stops the first collection half-way.
    const [name = ''] = readdirSync(paths.partials).sort();
    rmSync(join(paths.partials, name));
    mkdirSync(join(paths.partials, name));
    await expect(store.gc()).rejects.toMatchObject({ code: 'WRITE_FAILED' });
    rmSync(join(paths.partials, name), { recursive: true });
    writeFileSync(join(paths.partials, name), 'left');
    await store.gc();
    expect([partials(paths), readdirSync(paths.claims)]).toEqual([[], []]);
  });

  it('removes a shard whose record was never written, and a record whose shard is lost', async () => {
    const { store, paths, root } = await filled();
    for (const key of [a, b]) linkSync(paths.shard(key), join(root, key));
    rmSync(paths.record(a));
    rmSync(join(root, a));
    rmSync(paths.shard(c));
    expect(await removedBy(store)).toEqual([a, c].sort());
    expect(await there(store)).toEqual([b]);
  });

  it('puts back what one that was killed had set aside, and judges it again', async () => {
    const { store, paths, root } = await filled();
    const token = '0'.repeat(36);
    await store.link(a, join(root, 'a'), 'hard');
    for (const key of [a, b]) {
      await writeClaim(paths, key, { started: 'before' });
      renameSync(paths.record(key), paths.removedRecord(key, token));
      renameSync(paths.shard(key), paths.removedShard(key, token));
    }
    expect(await removedBy(store)).toEqual([b, c].sort());
    expect(await there(store)).toEqual([a]);
    expect(partials(paths)).toEqual([]);
  });

  it('puts back no record of a shard whose file is removed already', async () => {
    const { store, paths } = await filled();
    const token = '0'.repeat(36);
    await writeClaim(paths, a, { started: 'before' });
    renameSync(paths.record(a), paths.removedRecord(a, token));
    rmSync(paths.shard(a));
    await store.gc();
    expect(existsSync(paths.record(a))).toBe(false);
    expect(partials(paths)).toEqual([]);
    expect((await store.verify()).damaged).toEqual([]);
  });

  // Events between the collection's first and last look, as by a batch that starts meanwhile.
  it.each([
    ['linked', (store: ShardStore, root: string) => linkSync(store.pathOf(a), join(root, 'a'))],
    [
      'named by an experiment',
      (store: ShardStore, root: string) =>
        store.registerExperiment(root, { merges: [{ path: 'default', keys: [a] }], finished: false }),
    ],
  ])('keeps what is %s while it works', async (_, happen) => {
    const { store, root } = await filled();
    const aside = await import('../../src/study/store/files/set-aside.js');
    vi.resetModules();
    vi.doMock('../../src/study/store/files/set-aside.js', () => ({
      ...aside,
      setAside: async (paths: StorePaths, tokens: ReadonlyMap<string, string>) => {
        await happen(store, root);
        await aside.setAside(paths, tokens);
      },
    }));
    const { collect } = await import('../../src/study/store/gc.js');
    vi.doUnmock('../../src/study/store/files/set-aside.js');
    const { pathsOf } = await import('../../src/study/store/files/paths.js');
    const { removed } = await collect(pathsOf(store.directory), {});
    expect(removed.map(({ key }) => key).sort()).toEqual([b, c].sort());
    expect(await there(store)).toEqual([a]);
    expect(await store.lookup(a)).toBeDefined();
  });

  it('and verifying and computing at the same time end with every shard there, whole', async () => {
    const { store } = await newStore();
    const root = temporaryDirectory();
    const keys = Array.from({ length: 15 }, (_, index) => keyOf(index));
    await store.registerExperiment(root, {
      merges: [{ path: 'grid', keys }],
      finished: false,
    });
    const processes = [1, 2].map(() => startProcess('compute', store.directory, join(root, 'log'), ...keys));
    let running = true;
    const ended = Promise.all(processes.map(({ ended }) => ended)).finally(() => {
      running = false;
    });
    while (running) {
      await store.gc();
      expect((await store.verify({ threads: 1 })).damaged).toEqual([]);
    }
    expect(await ended).toEqual([0, 0]);
    expect(await there(store)).toEqual(keys.sort());
  });
});
