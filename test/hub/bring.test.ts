import {
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readSideFile } from '../../src/core/models/checkpoint/files/small-file.js';
import { openModel as openCheckpoint } from '../../src/core/models/reading/read-model.js';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { bringRanges } from '../../src/core/models/sources/hub/bring-ranges.js';
import { contentOf } from '../../src/core/models/sources/hub/cache/content.js';
import { rangeCacheOf } from '../../src/core/models/sources/hub/cache/range-folders.js';
import { missingRanges } from '../../src/core/models/sources/ranges/folder/folder.js';
import type { DownloadProgress } from '../../src/core/models/sources/source.js';
import { llama, temporaryDirectory, writeCheckpoint, writeLarge } from '../fixtures/checkpoints.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { startHub } from '../fixtures/hub-server.js';

describe('a model of the hub', () => {
  it('comes with its headers and side files, and no weights', async () => {
    const hub = await startHub();
    const source = writeLarge(join(temporaryDirectory(), 'large'), 4, 1, 3);
    writeCheckpoint(join(source, 'original'), llama());
    const never = [
      'modeling_large.py',
      'pytorch_model.bin',
      'optimizer.pt',
      'extra.safetensors',
      'notes.txt',
    ];
    for (const name of never) writeFileSync(join(source, name), name);
    writeFileSync(join(source, 'README.md'), '# Large\n');
    const { commit } = hub.addDirectory('org/large', source);
    const env = hubUser(hub);
    const model = await bringHeaders('org/large', impatient(env));
    expect(model).toEqual({
      path: await rangeCacheOf('org/large', env).then((at) => at?.path),
      id: 'org/large',
      revision: commit,
    });
    expect([...hub.sent.keys()].sort()).toEqual(['org/large/README.md', 'org/large/model.safetensors']);
    expect(hub.weightBytes).toBe(64 * 1024);
    const [there, here] = await Promise.all([openCheckpoint(source), openCheckpoint(model.path)]);
    expect([...here.tensors]).toEqual([...there.tensors]);
    expect(here.hub).toEqual({ id: 'org/large', revision: commit });
  });

  it('gets the ranges that are asked for, and knows those that it lacks', async () => {
    const hub = await startHub();
    const source = writeLarge(join(temporaryDirectory(), 'large'), 4, 1, 3);
    hub.addDirectory('org/large', source);
    const options = impatient(hubUser(hub));
    const { path } = await bringHeaders('org/large', options);
    const file = join(path, 'model.safetensors');
    const before = lstatSync(file, { bigint: true });
    const ranges = [
      { begin: 1_000_000, end: 1_500_000 },
      { begin: 3_000_000, end: 3_000_001 },
    ];
    expect(await missingRanges(file, ranges)).toEqual(ranges);
    const progress: DownloadProgress[] = [];
    await bringRanges([{ path: file, ranges }], { ...options, onProgress: (now) => progress.push(now) });
    expect(progress.at(-1)).toEqual({ done: 500_001, total: 500_001 });
    expect(progress.map(({ done }) => done)).toEqual(progress.map(({ done }) => done).sort((a, b) => a - b));
    expect(await missingRanges(file, [{ begin: 999_999, end: 1_500_001 }])).toEqual([
      { begin: 999_999, end: 1_000_000 },
      { begin: 1_500_000, end: 1_500_001 },
    ]);
    const [there, here] = [readFileSync(join(source, 'model.safetensors')), readFileSync(file)];
    for (const { begin, end } of ranges)
      expect(here.subarray(begin, end).equals(there.subarray(begin, end))).toBe(true);
    expect(here.subarray(2_000_000, 2_001_000)).toEqual(Buffer.alloc(1000));
    expect(hub.weightBytes).toBe(64 * 1024 + 500_001);
    const after = lstatSync(file, { bigint: true });
    expect([after.mtimeNs, after.size]).toEqual([before.mtimeNs, before.size]);
    expect((await contentOf(file))?.sha256).toMatch(/^[0-9a-f]{64}$/);
  });

  it('goes to the cache of the hub once it is whole', async () => {
    const hub = await startHub();
    const source = writeLarge(join(temporaryDirectory(), 'large'), 4, 1, 3);
    hub.addDirectory('org/large', source);
    const env = hubUser(hub);
    const { path, revision } = await bringHeaders('org/large', impatient(env));
    const file = join(path, 'model.safetensors');
    const content = readFileSync(join(source, 'model.safetensors'));
    const identity = await contentOf(file);
    await bringRanges(
      [{ path: file, ranges: [{ begin: 70_000, end: content.length - 100 }] }],
      impatient(env),
    );
    expect(lstatSync(file).isSymbolicLink()).toBe(true);
    expect(readFileSync(file).equals(content)).toBe(true);
    expect(await contentOf(file)).toEqual(identity);
    const root = join(env['HF_HOME'] ?? '', 'hub', 'models--org--large');
    expect(readFileSync(join(root, 'refs', 'main'), 'utf8')).toBe(revision);
    expect(readlinkSync(join(root, 'snapshots', revision, 'model.safetensors'))).toBe(
      `../../blobs/${identity?.etag}`,
    );
    expect(realpathSync(file)).toBe(join(root, 'blobs', identity?.etag ?? ''));
    expect(readdirSync(join(root, 'blobs'))).toEqual([identity?.etag]);
    expect(hub.weightBytes).toBe(content.length);
    expect((await bringHeaders('org/large', impatient(env))).path).toBe(path);
  });
});

describe('a cache of the hub whose models share blobs', () => {
  it('is read like others, and its files keep the name that the hub gives their content', async () => {
    const hub = await startHub();
    const source = writeCheckpoint(join(temporaryDirectory(), 'model'), {
      ...llama(),
      files: { 'tokenizer.json': '{}' },
    });
    hub.addDirectory('org/model', source);
    const env = hubUser(hub);
    const { path, revision } = await bringHeaders('org/model', impatient(env));
    const cache = join(env['HF_HOME'] ?? '', 'hub');
    const pointer = join(cache, 'models--org--model', 'snapshots', revision, 'tokenizer.json');
    const blob = realpathSync(pointer);
    const shared = join(cache, 'blobs', 'ab', `ab${'0'.repeat(62)}`);
    mkdirSync(join(shared, '..'), { recursive: true });
    renameSync(blob, shared);
    symlinkSync(relative(join(blob, '..'), shared), blob);
    for (const file of [pointer, join(path, 'tokenizer.json')]) {
      expect((await readSideFile(file)).toString()).toBe('{}');
      expect(await contentOf(file)).toEqual({ etag: basename(blob) });
    }
  });
});
