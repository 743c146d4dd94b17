import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  constants,
  copyFileSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { stagingPath } from '../../src/core/engine/output/staging.js';
import {
  type Link,
  layerSwap,
  openCheckpoint,
  type Progress,
  planMerge,
  relayout,
  runPlan,
} from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint, writePair } from '../fixtures/checkpoints.js';
import { writeLaidOut } from '../fixtures/laid-out.js';
import { readTensors } from '../fixtures/merged.js';

const swapped = [
  'model-00002-of-00010.safetensors',
  'model-00003-of-00010.safetensors',
  'model-00009-of-00010.safetensors',
];
const kept = 'model-00005-of-00010.safetensors';
const averaged = 'model-00001-of-00010.safetensors';

describe('relayout', () => {
  it('changes where tensors are and nothing else', async () => {
    const { original, task } = await writeLaidOut();
    expect(await readTensors(task)).toEqual(await readTensors(original.task));
    expect((await openCheckpoint(task)).files).toHaveLength(10);
  });

  it('goes there and back', async () => {
    const { root, original, task } = await writeLaidOut();
    await relayout({ model: task }, { out: join(root, 'back'), layout: 'size' });
    expect((await openCheckpoint(join(root, 'back'))).files).toHaveLength(1);
    expect(await readTensors(join(root, 'back'))).toEqual(await readTensors(original.task));
  });

  it('keeps the model’s own card', async () => {
    const { root, task } = writePair();
    writeFileSync(join(task, 'README.md'), '# Expert');
    await relayout({ model: task }, { out: join(root, 'out') });
    expect(readFileSync(join(root, 'out', 'README.md'), 'utf8')).toBe('# Expert');
  });
});

describe('a merge of checkpoints laid out by layer', () => {
  it('knows which shards equal whole input files', async () => {
    const { task, language } = await writeLaidOut();
    const plan = await planMerge({ method: 'layer_swap', task, language, bottom: 2, top: 1 });
    const verbatim = plan.shards.filter((shard) => shard.verbatim !== undefined);
    expect(verbatim.map(({ file, verbatim: source }) => [file, source?.input])).toEqual(
      [2, 3, 4, 5, 6, 7, 8, 9].map((n) => [`model-0000${n}-of-00010.safetensors`, n < 4 || n === 9 ? 1 : 0]),
    );
    expect(plan.cost.bytesVerbatim).toBe(verbatim.reduce((total, { bytes }) => total + bytes, 0));
    const converted = await planMerge({
      method: 'layer_swap',
      task,
      language,
      bottom: 2,
      top: 1,
      dtype: 'float32',
    });
    expect(converted.cost.bytesVerbatim).toBe(0);
  });

  it('hashes no shard that is an input file, and has its SHA-256 all the same', async () => {
    const { root, task, language } = await writeLaidOut();
    const totals = new Set<number>();
    const onProgress = ({ phase, total }: Progress) => phase === 'checksums' && totals.add(total);
    const out = join(root, 'hashed');
    const { shards } = await layerSwap(
      { task, language, bottom: 2, top: 1 },
      { out, checksums: true, onProgress },
    );
    // Ten files of each input, and two averaged shards.
    expect([...totals]).toEqual([22]);
    const sha256 = (file: string) =>
      createHash('sha256')
        .update(readFileSync(join(out, file)))
        .digest('hex');
    expect(shards.map((shard) => shard.sha256)).toEqual(shards.map(({ file }) => sha256(file)));
  });

  it('says that it copied where the file system shares no blocks, or refuses where that was asked for', async () => {
    const { root, task, language } = await writeLaidOut();
    const merge = (link: Link | undefined) =>
      layerSwap({ task, language, bottom: 2, top: 1 }, { out: join(root, 'shared'), link });
    let shares = true;
    try {
      copyFileSync(join(task, kept), join(root, 'probe'), constants.COPYFILE_FICLONE_FORCE);
    } catch {
      shares = false;
    }
    const { warnings } = await merge(undefined);
    expect(warnings).toEqual(shares ? [] : [expect.stringContaining('8 shards equal to whole input files')]);
    rmSync(join(root, 'shared'), { recursive: true });
    if (shares) await merge('reflink');
    else {
      await expect(merge('reflink')).rejects.toMatchObject({ code: 'LINK_REFUSED', exitCode: 1 });
      expect(existsSync(join(root, 'shared'))).toBe(false);
    }
  });

  it('does not take a file that loaders would refuse, for want of its format', async () => {
    const root = temporaryDirectory();
    const models = ['t', 'l'].map((name, seed) => {
      const { tensors } = llama({ layers: 1, seed });
      const directory = writeCheckpoint(join(root, name), {
        tensors,
        shards: [
          Object.keys(tensors).filter((key) => key.includes('layers')),
          ['model.embed_tokens.weight'],
          ['model.norm.weight'],
        ],
      });
      for (const shard of ['model-1', 'model-2', 'model-3']) {
        const path = join(directory, `${shard}.safetensors`);
        writeFileSync(
          path,
          readFileSync(path).toString('latin1').replace('"format":"pt"', '"format":"tf"'),
          'latin1',
        );
      }
      return directory;
    });
    const [task = '', language = ''] = models;
    expect(
      (await planMerge({ method: 'layer_swap', task, language, bottom: 1, top: 0 })).cost.bytesVerbatim,
    ).toBe(0);
  });

  it.each<[Link | undefined, (path: string, source: string) => void]>([
    [
      'copy',
      (path, source) =>
        expect([statSync(path).ino === statSync(source).ino, lstatSync(path).nlink]).toEqual([false, 1]),
    ],
    [
      undefined,
      (path, source) =>
        expect([statSync(path).ino === statSync(source).ino, lstatSync(path).nlink]).toEqual([false, 1]),
    ],
    ['hard', (path, source) => expect(statSync(path).ino).toBe(statSync(source).ino)],
    ['symbolic', (path, source) => expect(readlinkSync(path)).toBe(source)],
  ])('has the same tensors with --link %s', async (link, expectShard) => {
    const { root, original, task, language } = await writeLaidOut();
    const counts = { bottom: 2, top: 1 };
    const { shards, bytesWritten } = await layerSwap(
      { task, language, ...counts },
      { out: join(root, 'linked'), link },
    );
    await layerSwap({ ...original, ...counts }, { out: join(root, 'plain') });
    expect(await readTensors(join(root, 'linked'))).toEqual(await readTensors(join(root, 'plain')));
    for (const name of swapped) expectShard(join(root, 'linked', name), join(language, name));
    expectShard(join(root, 'linked', kept), join(task, kept));
    expect(lstatSync(join(root, 'linked', averaged)).nlink).toBe(1);
    if (link === 'hard' || link === 'symbolic') {
      expect(shards.filter((shard) => shard.link === link)).toHaveLength(8);
      expect(bytesWritten).toBe((24 * 16 + 16) * 2);
    }
  });

  it('leaves linked inputs as they were, also when the output is replaced', async () => {
    const { root, task, language } = await writeLaidOut();
    const out = join(root, 'out');
    chmodSync(join(language, swapped[0] ?? ''), 0o440);
    const before = readFileSync(join(language, swapped[0] ?? ''));
    for (const link of ['hard', 'symbolic', 'copy'] as const)
      await layerSwap({ task, language, bottom: 2, top: 1 }, { out, link, force: true });
    expect(readFileSync(join(language, swapped[0] ?? '')).equals(before)).toBe(true);
    expect(statSync(join(language, swapped[0] ?? '')).mode & 0o777).toBe(0o440);
  });

  // Tries a clone in the shard's place to detect a file system without shared blocks.
  it('continues the shards that an interrupted run copied', async () => {
    const { root, task, language } = await writeLaidOut();
    const out = join(root, 'out');
    const plan = await planMerge({ method: 'layer_swap', task, language, bottom: 2, top: 1 });
    const controller = new AbortController();
    const onProgress = ({ done, total }: Progress) => {
      if (done > total / 2) controller.abort();
    };
    const options = { out, threads: 1, resume: true };
    await expect(
      runPlan(plan, { ...options, link: 'copy', signal: controller.signal, onProgress }),
    ).rejects.toMatchObject({ code: 'INTERRUPTED' });
    expect((await runPlan(plan, options)).bytesResumed).toBeGreaterThan(0);
    for (const name of swapped)
      expect(readFileSync(join(out, name)).equals(readFileSync(join(language, name)))).toBe(true);
  });

  // A run that linked and was killed leaves hard links to the user's own files in its staging directory.
  it('never writes through a link that another run left', async () => {
    const { root, task, language } = await writeLaidOut();
    const out = join(root, 'out');
    const parameters = { task, language, bottom: 2, top: 1 };
    const before = new Map(swapped.map((name) => [name, readFileSync(join(language, name))]));
    for (const link of ['hard', 'symbolic'] as const) {
      const controller = new AbortController();
      const plan = await planMerge({ method: 'layer_swap', ...parameters });
      controller.abort();
      await expect(
        runPlan(plan, { out, link, resume: true, signal: controller.signal }),
      ).rejects.toMatchObject({ code: 'INTERRUPTED' });
      expect(lstatSync(join(stagingPath(out), 'checkpoint', swapped[0] ?? '')).isSymbolicLink()).toBe(
        link === 'symbolic',
      );
      await layerSwap(parameters, { out, link: 'copy', resume: true });
      for (const [name, content] of before)
        expect(readFileSync(join(language, name)).equals(content)).toBe(true);
      expect(lstatSync(join(out, swapped[0] ?? '')).nlink).toBe(1);
      rmSync(out, { recursive: true });
    }
  });

  it('follows a hub snapshot’s links to the files themselves', async () => {
    const { root, task, language } = await writeLaidOut();
    mkdirSync(join(root, 'snapshot'));
    for (const name of [...swapped, averaged, kept, 'model.safetensors.index.json', 'config.json'])
      symlinkSync(join(language, name), join(root, 'snapshot', name));
    for (const n of [4, 6, 7, 8, 10])
      symlinkSync(
        join(language, `model-${String(n).padStart(5, '0')}-of-00010.safetensors`),
        join(root, 'snapshot', `model-${String(n).padStart(5, '0')}-of-00010.safetensors`),
      );
    await layerSwap(
      { task, language: join(root, 'snapshot'), bottom: 2, top: 1 },
      { out: join(root, 'out'), link: 'hard' },
    );
    expect(lstatSync(join(root, 'out', swapped[0] ?? '')).isFile()).toBe(true);
    expect(statSync(join(root, 'out', swapped[0] ?? '')).ino).toBe(
      statSync(join(language, swapped[0] ?? '')).ino,
    );
  });
});

// A directory on a file system with shared blocks: mkfs.xfs on a file, mount -o loop.
const shared = process.env['LAYERLOOM_REFLINK_DIR'];

describe.skipIf(!shared)('a file system with shared blocks (LAYERLOOM_REFLINK_DIR)', () => {
  it('copies whole files by sharing them, by default', async () => {
    const root = mkdtempSync(join(shared ?? '', 'layerloom-'));
    onTestFinished(() => rmSync(root, { recursive: true }));
    const models = ['task', 'language'].map((name, seed) =>
      writeCheckpoint(join(root, name), llama({ hidden: 512, seed })),
    );
    for (const model of models) await relayout({ model }, { out: `${model}-by-layer` });
    const [task = '', language = ''] = models;
    const { shards } = await layerSwap(
      { task: `${task}-by-layer`, language: `${language}-by-layer`, bottom: 2, top: 1 },
      { out: join(root, 'out') },
    );
    expect(shards.filter(({ link }) => link === 'reflink')).toHaveLength(8);
    await layerSwap({ task, language, bottom: 2, top: 1 }, { out: join(root, 'plain') });
    expect(await readTensors(join(root, 'out'))).toEqual(await readTensors(join(root, 'plain')));
    expect(execFileSync('filefrag', ['-v', join(root, 'out', kept)], { encoding: 'utf8' })).toContain(
      'shared',
    );
  });
});
