import {
  existsSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
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

const key = keyOf('a');
const keys = (count: number) => Array.from({ length: count }, (_, index) => keyOf(index));

const agoMs = (path: string, ms: number) => {
  const then = (Date.now() - ms) / 1000;
  utimesSync(path, then, then);
};

const startHolder = async (directory: string, ...held: string[]) => {
  const go = join(temporaryDirectory(), 'go');
  writeFileSync(go, '');
  const holder = startProcess('claim', directory, go, ...held);
  expect(JSON.parse((await holder.lines.next()).value)).toEqual(held);
  return holder;
};

describe('processes that share a store', () => {
  it('compute every shard once between them', async () => {
    const root = temporaryDirectory();
    const [directory, log] = [join(root, 'store'), join(root, 'log')];
    const all = keys(50);
    const processes = [1, 2, 3, 4].map(() => startProcess('compute', directory, log, ...all));
    expect(await Promise.all(processes.map(({ ended }) => ended))).toEqual([0, 0, 0, 0]);
    expect(readFileSync(log, 'utf8').trim().split('\n').sort()).toEqual([...all].sort());
    const { store, paths } = await newStore(directory);
    expect((await store.list()).shards.map(({ state }) => state)).toEqual(all.map(() => 'whole'));
    expect(partials(paths)).toEqual([]);
  });

  it('go on without one that is killed', async () => {
    const root = temporaryDirectory();
    const [directory, log] = [join(root, 'store'), join(root, 'log')];
    const all = keys(80);
    const [doomed, ...others] = [1, 2, 3].map(() => startProcess('compute', directory, log, ...all));
    while (!existsSync(log)) await setTimeout(1);
    doomed?.child.kill('SIGKILL');
    expect(await Promise.all(others.map(({ ended }) => ended))).toEqual([0, 0]);
    const { store } = await newStore(directory);
    expect((await store.list()).shards).toHaveLength(80);
    // Only shards that it computed and had not yet published may be made twice.
    expect(readFileSync(log, 'utf8').trim().split('\n').length).toBeLessThanOrEqual(81);
  });

  it('do not ask for ever for a claim that is there, and gone when it is read', async () => {
    const { store, paths } = await newStore();
    symlinkSync('nowhere', paths.claim(key));
    await expect(store.claim(key)).rejects.toMatchObject({
      code: 'READ_FAILED',
      details: { file: paths.claim(key) },
    });
  });

  it('wait for a live one, and take over from a killed one at once', async () => {
    const { store, paths } = await newStore();
    const { child } = await startHolder(store.directory, key);
    expect(await store.claim(key)).toBeUndefined();
    expect(partials(paths)).toHaveLength(1);
    const waiting = store.waitFor([key]);
    expect(await Promise.race([waiting, setTimeout(300, 'still waiting')])).toBe('still waiting');
    child.kill('SIGKILL');
    expect(await waiting).toEqual([key]);
    const claim = await store.claim(key);
    expect(claim).toBeDefined();
    expect(partials(paths)).toEqual([]);
    await claim?.release();
  });

  it('take over a dead claim one alone, however many try', async () => {
    const { store } = await newStore();
    const all = keys(25);
    const holder = await startHolder(store.directory, ...all);
    holder.child.kill('SIGKILL');
    await holder.ended;
    const go = join(temporaryDirectory(), 'go');
    const takers = Array.from({ length: 6 }, () => startProcess('claim', store.directory, go, ...all));
    await setTimeout(500);
    writeFileSync(go, '');
    const taken = await Promise.all(
      takers.map(async ({ lines }) => JSON.parse((await lines.next()).value) as string[]),
    );
    expect(taken.flat().sort()).toEqual([...all].sort());
  });

  it('take over also from one that died while it was taking over', async () => {
    const { store, paths } = await newStore();
    await writeClaim(paths, key, { started: 'before' });
    await writeClaim(paths, `${key}.next`, { started: 'before', token: '1'.repeat(36) });
    const claim = await store.claim(key);
    expect(claim).toBeDefined();
    expect(existsSync(paths.claim(`${key}.next`))).toBe(false);
    await claim?.release();
  });
});

describe('a claim', () => {
  it('of a number that another process has now is dead', async () => {
    const { store, paths } = await newStore();
    await writeClaim(paths, key, {});
    expect(await store.claim(key)).toBeUndefined();
    await writeClaim(paths, key, { started: 'another time' });
    expect(await store.claim(key)).toBeDefined();
  });

  it('of another host holds while its heart beats, by the clock of the store and not by ours', async () => {
    const { store, paths } = await newStore();
    const remote = { host: 'node-7', place: 'node-7 boot pid', pid: 1 };
    await writeClaim(paths, key, remote);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
    onTestFinished(() => void vi.useRealTimers());
    expect(await store.claim(key)).toBeUndefined();
    vi.useRealTimers();
    agoMs(paths.claim(key), 100_000);
    expect(await store.claim(key)).toBeUndefined();
    agoMs(paths.claim(key), 130_000);
    expect(await store.waitFor([key])).toEqual([key]);
    expect(await store.claim(key)).toBeDefined();
  });

  it('of this host’s name and another boot or container is one of another host', async () => {
    const { store, paths } = await newStore();
    await writeClaim(paths, key, { place: `${hostname()} another boot`, pid: 2 ** 22 - 1, started: '1' });
    expect(await store.claim(key)).toBeUndefined();
  });

  it('that says nothing, being about to be written, holds until it is old', async () => {
    const { store, paths } = await newStore();
    writeFileSync(paths.claim(key), '');
    expect(await store.claim(key)).toBeUndefined();
    agoMs(paths.claim(key), 130_000);
    expect(await store.claim(key)).toBeDefined();
  });

  it('keeps its heart beating, and not that of another’s in its place', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const { store: opened, paths } = await newStore();
    // A process has one timer, started with its first claim.
    vi.resetModules();
    const { ShardStore } = await import('../../src/study/store/shard-store.js');
    const claim = await (await ShardStore.open(opened.directory)).claim(key);
    const age = () => Date.now() - statSync(paths.claim(key)).mtimeMs;
    agoMs(paths.claim(key), 60_000);
    await vi.advanceTimersByTimeAsync(10_000);
    await vi.waitFor(() => expect(age()).toBeLessThan(30_000));
    await writeClaim(paths, key, { token: '1'.repeat(36) });
    agoMs(paths.claim(key), 60_000);
    await vi.advanceTimersByTimeAsync(20_000);
    await setTimeout(100);
    expect(age()).toBeGreaterThan(50_000);
    await claim?.release();
    expect(existsSync(paths.claim(key))).toBe(true);
  });

  it('does not keep its process running', async () => {
    const { store } = await newStore();
    const holder = await startHolder(store.directory, key);
    holder.child.stdin.end();
    expect(await holder.ended).toBe(0);
    expect(await store.claim(key)).toBeDefined();
  });

  it('is released with what was written, at the end of its scope', async () => {
    const { store, paths } = await newStore();
    {
      await using claim = await store.claim(key);
      writeFileSync(claim?.partialPath ?? '', 'half');
    }
    expect(partials(paths)).toEqual([]);
    await publish(store, key);
  });
});

describe('waiting', () => {
  it('ends with the first shard that is published', async () => {
    const { store } = await newStore();
    const [a, b] = [await store.claim(keyOf('a')), await store.claim(keyOf('b'))];
    const waiting = store.waitFor([keyOf('a'), keyOf('b')]);
    writeFileSync(b?.partialPath ?? '', contentOf(keyOf('b')));
    await b?.publish(finish(keyOf('b')));
    expect(await waiting).toEqual([keyOf('b')]);
    await a?.release();
  });

  it('ends when it is interrupted', async () => {
    const { store } = await newStore();
    await using _claim = await store.claim(key);
    const controller = new AbortController();
    const waiting = store.waitFor([key], { signal: controller.signal });
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ code: 'INTERRUPTED' });
  });
});

it('a claim that this process could not remove is dead for it, and not waited for', async () => {
  const { store, paths } = await newStore();
  const claim = await store.claim(key);
  // A file replaces the folder: nothing in it can be removed.
  renameSync(paths.claims, `${paths.claims}-aside`);
  writeFileSync(paths.claims, '');
  await claim?.release();
  rmSync(paths.claims);
  renameSync(`${paths.claims}-aside`, paths.claims);
  expect(existsSync(paths.claim(key))).toBe(true);
  await publish(store, key);
  expect(await store.lookup(key)).toBeDefined();
});

it('a shard whose claim was taken over meanwhile is left to the one that computes it now', async () => {
  const { store, paths } = await newStore();
  const slow = await store.claim(key);
  if (slow === undefined) throw new Error('it is claimed');
  writeFileSync(slow.partialPath, contentOf(key));
  // As on a host that slept for minutes: another host has the claim, and removed the former's remains.
  await writeClaim(paths, key, { place: 'elsewhere' });
  rmSync(slow.partialPath);
  expect(await slow.publish(finish(key))).toBeUndefined();
  expect(await store.lookup(key)).toBeUndefined();
  expect(partials(paths)).toEqual([]);
  expect(existsSync(paths.claim(key))).toBe(true);
});
