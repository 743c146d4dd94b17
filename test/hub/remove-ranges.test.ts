import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { rangeCacheOf } from '../../src/core/models/sources/hub/cache/range-folders.js';
import { modelRecordPath } from '../../src/core/models/sources/ranges/folder/folder.js';
import { rangeCacheRoot } from '../../src/core/models/sources/ranges/folder/root.js';
import { listRangeCache } from '../../src/core/models/sources/ranges/list.js';
import { removeFromRangeCache } from '../../src/core/models/sources/remove-ranges.js';
import { temporaryDirectory, writeLarge } from '../fixtures/checkpoints.js';
import { hubUser } from '../fixtures/hub-client.js';
import { type HubServer, startHub } from '../fixtures/hub-server.js';
import { writeHeadersOnly } from '../fixtures/range-cache.js';

const script = fileURLToPath(new URL('../fixtures/hub-process.mjs', import.meta.url));

/** Another process that downloads headers, prints the folder, and waits to be ended. */
const bring = async (
  model: string,
  env: NodeJS.ProcessEnv,
): Promise<{ process: ChildProcess; path: string }> => {
  const child = spawn(process.execPath, [script, 'headers', model], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  const [line] = (await once(child.stdout, 'data')) as [Buffer];
  return { process: child, path: (JSON.parse(line.toString()) as { path: string }).path };
};

const end = async (child: ChildProcess): Promise<void> => {
  const closed = once(child, 'exit');
  child.kill('SIGKILL');
  await closed;
};

const prepare = async (): Promise<{ hub: HubServer; env: NodeJS.ProcessEnv }> => {
  const hub = await startHub();
  const source = writeLarge(join(temporaryDirectory(), 'large'), 2, 1, 3);
  for (const id of ['org/one', 'org/two']) hub.addDirectory(id, source);
  return { hub, env: hubUser(hub) };
};

describe('the cache of ranges', () => {
  it('is listed by model and commit, with what is here and on disk', async () => {
    const { env } = await prepare();
    const { process: child } = await bring('org/one', env);
    await end(child);
    const [one, ...others] = await listRangeCache(rangeCacheRoot(env));
    expect(others).toEqual([]);
    expect(one).toMatchObject({
      id: 'org/one',
      files: [{ name: 'model.safetensors', present: 65_536, kind: 'ranges' }],
    });
    expect(one?.onDisk).toBeGreaterThanOrEqual(65_536);
    expect(one?.onDisk).toBeLessThan(400_000);
  });

  it('is listed with links to blobs that are there, and to others that were removed', async () => {
    const root = temporaryDirectory();
    const folder = writeHeadersOnly(root, 'org/one', temporaryDirectory());
    writeFileSync(join(root, 'blob'), 'twelve bytes');
    symlinkSync(join(root, 'blob'), join(folder, 'a.safetensors'));
    symlinkSync(join(root, 'removed'), join(folder, 'b.safetensors'));
    expect((await listRangeCache(root))[0]?.files).toEqual([
      { name: 'a.safetensors', bytes: 12, present: 12, onDisk: 0, kind: 'link' },
      { name: 'b.safetensors', bytes: 0, present: 0, onDisk: 0, kind: 'broken link' },
    ]);
  });

  it('keeps what a process uses, and removes it after that process was killed', async () => {
    const { env } = await prepare();
    const { process: child, path } = await bring('org/one', env);
    const kept = await removeFromRangeCache({ models: ['org/one'], env });
    expect([kept.removed, kept.inUse.map(({ folder }) => folder)]).toEqual([[], [path]]);
    await end(child);
    const done = await removeFromRangeCache({ models: ['org/one'], env });
    expect(done.removed.map(({ id }) => id)).toEqual(['org/one']);
    expect(done.freed).toBeGreaterThan(0);
    expect(await rangeCacheOf('org/one', env)).toBeUndefined();
    expect(await listRangeCache(rangeCacheRoot(env))).toEqual([]);
  });

  it('loses what was not used for a while, and models without their record or blobs', async () => {
    const { env } = await prepare();
    for (const model of ['org/one', 'org/two']) {
      const { process: child, path } = await bring(model, env);
      await end(child);
      if (model === 'org/one') utimesSync(modelRecordPath(path), 0, new Date(Date.now() - 10_000));
    }
    const names = ({ removed }: Awaited<ReturnType<typeof removeFromRangeCache>>) =>
      removed.map(({ id }) => id);
    expect(names(await removeFromRangeCache({ env }))).toEqual([]);
    expect(names(await removeFromRangeCache({ env, unusedFor: 5000, dryRun: true }))).toEqual(['org/one']);
    expect(names(await removeFromRangeCache({ env, unusedFor: 5000 }))).toEqual(['org/one']);
    const [two] = await listRangeCache(rangeCacheRoot(env));
    rmSync(modelRecordPath(two?.folder ?? ''));
    expect(names(await removeFromRangeCache({ env }))).toEqual(['org/two']);
  });
});
