import { execFile, spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openModel as openCheckpoint } from '../../src/core/models/reading/read-model.js';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { bringRanges } from '../../src/core/models/sources/hub/bring-ranges.js';
import { missingRanges } from '../../src/core/models/sources/ranges/folder/folder.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { type HubServer, startHub } from '../fixtures/hub-server.js';

const { LAYERLOOM_PYTHON: python, LAYERLOOM_OLAH: olah } = process.env;
const hasHub = python !== undefined && spawnSync(python, ['-c', 'import huggingface_hub']).status === 0;

const ask = async (env: NodeJS.ProcessEnv, ...args: string[]): Promise<Record<string, unknown>> => {
  const script = fileURLToPath(new URL('hub.py', import.meta.url));
  const variables = {
    PATH: process.env['PATH'],
    HF_HUB_DISABLE_TELEMETRY: '1',
    HF_HUB_DISABLE_XET: '1',
    ...env,
  };
  const { stdout } = await promisify(execFile)(python ?? '', [script, ...args], { env: variables });
  return JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as Record<string, unknown>;
};

const sides = { 'tokenizer.json': '{"model": {}}', 'README.md': '# A model\n', LICENSE: 'MIT' };

const writeModel = (): string => {
  const model = llama({ hidden: 64 });
  const names = Object.keys(model.tensors);
  const shards = [names.slice(0, 20), names.slice(20)];
  return writeCheckpoint(join(temporaryDirectory(), 'model'), { ...model, shards, files: sides });
};

const digests = (directory: string): Record<string, string> =>
  Object.fromEntries(
    readdirSync(directory)
      .filter((name) => statSync(join(directory, name)).isFile())
      .sort()
      .map((name) => [
        name,
        createHash('sha256')
          .update(readFileSync(join(directory, name)))
          .digest('hex'),
      ]),
  );

const bringAll = async (env: NodeJS.ProcessEnv): Promise<string> => {
  const { path } = await bringHeaders('org/model', impatient(env));
  const { files } = await openCheckpoint(path);
  const needs = files.map((file) => ({ path: file.path, ranges: [{ begin: 0, end: file.bytes }] }));
  await bringRanges(needs, impatient(env));
  return path;
};

describe.skipIf(!hasHub)('the cache of the hub (LAYERLOOM_PYTHON with huggingface_hub)', () => {
  it('that layerloom wrote is read by huggingface_hub, which fetches nothing more', async () => {
    const hub = await startHub({ pageSize: 3 });
    const source = writeModel();
    hub.addDirectory('org/model', source);
    const env = hubUser(hub);
    await bringAll(env);
    const read = await ask({ ...env, HF_HUB_OFFLINE: '1' }, 'read', 'org/model');
    const files = digests(source);
    expect(read).toMatchObject({ files, found: Object.keys(files), warnings: [], refs: ['main'] });
    const bytes = Object.keys(files).reduce((sum, name) => sum + statSync(join(source, name)).size, 0);
    expect(read['size_on_disk']).toBe(bytes);
    const before = new Map(hub.sent);
    const fetched = await ask(env, 'fetch', 'org/model');
    expect(fetched['folder']).toBe(read['folder']);
    expect(hub.sent).toEqual(before);
  });

  it('that huggingface_hub wrote is taken by layerloom, which fetches no weights', async () => {
    const hub = await startHub();
    hub.addDirectory('org/model', writeModel());
    const env = hubUser(hub);
    const { folder } = await ask(env, 'fetch', 'org/model');
    const before = new Map(hub.sent);
    expect((await bringHeaders('org/model', impatient(env))).path).toBe(folder);
    expect(hub.sent).toEqual(before);
    expect((await openCheckpoint(folder as string)).tensors.size).toBeGreaterThan(60);
  });
});

const startOlah = async (hub: HubServer): Promise<string> => {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as { port: number };
  probe.close();
  const netloc = hub.endpoint.replace('http://', '');
  const lfs = hub.cdn.replace('http://', '');
  const mirror = `127.0.0.1:${port}`;
  const root = temporaryDirectory();
  const args = ['--host', '127.0.0.1', '--port', String(port), '--hf-scheme', 'http', '--hf-netloc', netloc];
  args.push('--hf-lfs-netloc', lfs, '--mirror-scheme', 'http', '--mirror-netloc', mirror);
  args.push(
    '--mirror-lfs-netloc',
    mirror,
    '--repos-path',
    join(root, 'repos'),
    '--log-path',
    join(root, 'logs'),
  );
  const child = spawn(olah ?? '', args, { cwd: root, stdio: 'ignore' });
  onTestFinished(async () => {
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  });
  for (let attempt = 0; attempt < 200; attempt += 1) {
    const up = await fetch(`http://${mirror}/`).then(
      () => true,
      () => false,
    );
    if (up) return `http://${mirror}`;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error('olah did not come up');
};

describe.skipIf(olah === undefined)('a mirror (LAYERLOOM_OLAH, the command olah-cli)', () => {
  it('gives headers, ranges and whole files like the hub', async () => {
    const hub = await startHub();
    const source = writeModel();
    hub.addDirectory('org/model', source);
    const env = hubUser({ endpoint: await startOlah(hub) });
    const { path } = await bringHeaders('org/model', impatient(env));
    const { files } = await openCheckpoint(path);
    const needs = files.map((file) => ({ path: file.path, ranges: [{ begin: 70_000, end: 90_001 }] }));
    await bringRanges(needs, impatient(env));
    for (const { path: file, ranges } of needs) expect(await missingRanges(file, ranges)).toEqual([]);
    expect(digests(await bringAll(env))).toEqual(digests(source));
  });
});
