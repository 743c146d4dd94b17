import { chmodSync, readFileSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { keyOf, newStore, publish, writeClaim } from '../fixtures/store.js';

const [a, b] = [keyOf('a'), keyOf('b')];

describe('layerloom store', () => {
  it('lists shards, and what is being computed', async () => {
    const { store, paths } = await newStore();
    await publish(store, a, b);
    await store.link(a, join(temporaryDirectory(), 'a'), 'hard');
    await writeClaim(paths, keyOf('c'), { host: 'node-7', place: 'node-7', pid: 7 });
    const { code, stdout, stderr } = await cli(['store', 'ls', store.directory]);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/: 2 shards, 14\.8 kB\n/);
    expect(stdout).toMatch(new RegExp(`${a.slice(0, 12)} +7\\.40 kB +1 hard link +\\S+ +math-1, swh-1\n`));
    expect(stdout).toMatch(/is being computed by process 7 on node-7/);
    const listing = JSON.parse((await cli(['store', 'ls', store.directory, '--json'])).stdout);
    expect(listing).toEqual(await store.list());
  });

  it('verifies, and fails where something is damaged', async () => {
    const { store } = await newStore();
    await publish(store, a, b);
    const sound = await cli(['store', 'verify', store.directory, '-j', '1']);
    expect([sound.code, sound.stderr]).toEqual([0, '']);
    expect(sound.stdout).toMatch(/2 shards read, 14\.8 kB, none damaged/);
    chmodSync(store.pathOf(a), 0o644);
    truncateSync(store.pathOf(a), 7);
    const damaged = await cli(['store', 'verify', store.directory]);
    expect(damaged.code).toBe(3);
    expect(damaged.stdout).toMatch(/1 damaged\n +\w+ +has 7 bytes instead of 7400/);
    expect(damaged.stderr).toMatch(/^error: .* has damaged shards: /);
    const { code, stdout } = await cli(['store', 'verify', store.directory, '--json']);
    expect(code).toBe(3);
    expect(JSON.parse(stdout).error).toMatchObject({
      code: 'STORE_DAMAGED',
      details: { shards: 2, damaged: [{ key: a, links: 0 }] },
    });
  });

  it('removes what nothing links, or says what it would remove', async () => {
    const { store } = await newStore();
    const kept = join(temporaryDirectory(), 'b');
    await publish(store, a, b);
    await store.link(b, kept, 'hard');
    const dry = await cli(['store', 'gc', store.directory, '--dry-run']);
    expect(dry.stdout).toMatch(/: would remove 1 shard \(7\.40 kB\), keep 1\n/);
    expect(await store.lookup(a)).toBeDefined();
    const { code, stdout } = await cli(['store', 'gc', store.directory, '--json']);
    expect([code, JSON.parse(stdout)]).toMatchObject([0, { removed: [{ key: a }], bytesRemoved: 7400 }]);
    expect(await store.lookup(a)).toBeUndefined();
    expect(readFileSync(kept)).toHaveLength(7400);
  });

  it('refuses what is no store', async () => {
    const { code, stderr } = await cli(['store', 'ls', temporaryDirectory()]);
    expect([code, stderr]).toEqual([3, expect.stringContaining('is not a store')]);
  });

  it('says what it can do when asked for nothing', async () => {
    const { code, stderr } = await cli(['store']);
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/Usage: layerloom store [\s\S]*verify[\s\S]*gc/),
    ]);
  });
});
