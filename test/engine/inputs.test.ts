import {
  chmodSync,
  copyFileSync,
  linkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { InputFiles } from '../../src/core/engine/input-files.js';
import type { PlannedInput } from '../../src/core/plan/plan.js';
import { storedTensor } from '../../src/core/tensor/stored-tensor.js';
import { layerSwap, openCheckpoint, planMerge, runPlan, soup } from '../../src/index.js';
import {
  llama,
  temporaryDirectory,
  writeCheckpoint,
  writeLarge,
  writePair,
} from '../fixtures/checkpoints.js';
import { overwrite, overwriteBetweenSamples } from '../fixtures/overwrite.js';

const planned = async (): Promise<{ inputs: PlannedInput[]; file: string; root: string }> => {
  const root = temporaryDirectory();
  const path = writeCheckpoint(join(root, 'model'), llama());
  const { name, files } = await openCheckpoint(path);
  return { inputs: [{ role: 'model', name, path, files }], file: join(path, 'model.safetensors'), root };
};

const sources = [storedTensor(0, { file: 0, begin: 0, end: 8, dtype: 'BF16' })];

const changed = { code: 'INPUT_CHANGED', exitCode: 3 };

describe('inputs while they are read', () => {
  it('are changed when they are written, also where the modification time is put back', async () => {
    const { inputs, file } = await planned();
    await using opened = await InputFiles.open(inputs, sources);
    await opened.verify();
    overwrite(file);
    await expect(opened.verify()).rejects.toMatchObject(changed);
  });

  it('are changed when anything moves their status-change time but a link', async () => {
    const { inputs, file } = await planned();
    await using opened = await InputFiles.open(inputs, sources);
    chmodSync(file, 0o600);
    await expect(opened.verify()).rejects.toMatchObject(changed);
  });

  it('are not changed by links that another process makes or removes', async () => {
    const { inputs, file, root } = await planned();
    await using opened = await InputFiles.open(inputs, sources);
    linkSync(file, join(root, 'link'));
    await opened.verify();
    rmSync(join(root, 'link'));
    await opened.verify();
  });

  it('are changed when they are written beside a new link', async () => {
    const { inputs, file, root } = await planned();
    await using opened = await InputFiles.open(inputs, sources);
    linkSync(file, join(root, 'link'));
    overwrite(file);
    await expect(opened.verify()).rejects.toMatchObject(changed);
  });

  it('have no identity at a glance, which another time or size ends', async () => {
    const { inputs, file, root } = await planned();
    await using opened = await InputFiles.open(inputs, sources, undefined, true);
    expect(opened.observed).toEqual(inputs);
    linkSync(file, join(root, 'link'));
    await opened.verify();
    utimesSync(file, 1, 1);
    await expect(opened.verify()).rejects.toMatchObject(changed);
    await expect(InputFiles.open(inputs, sources, undefined, true)).rejects.toMatchObject(changed);
  });

  it('are changed by few bytes, of which no sample tells, unless a link is made at the very moment', async () => {
    const root = temporaryDirectory();
    const path = writeLarge(join(root, 'model'), 1, 2, 1);
    const file = join(path, 'model.safetensors');
    const { name, files } = await openCheckpoint(path);
    await using opened = await InputFiles.open([{ role: 'model', name, path, files }], sources);
    const linkAndUnlink = async () => {
      linkSync(file, join(root, 'link'));
      rmSync(join(root, 'link'));
    };
    await opened.whileLinking([file], linkAndUnlink);
    await opened.whileLinking([file], linkAndUnlink);
    await opened.verify();
    overwriteBetweenSamples(file);
    await expect(opened.whileLinking([file], linkAndUnlink)).rejects.toMatchObject(changed);
    await expect(opened.verify()).rejects.toMatchObject(changed);
  });

  it.each([undefined, 'hard', 'symbolic', 'copy'] as const)(
    'are changed by few bytes in the middle of a merge, with link %s',
    async (link) => {
      const root = temporaryDirectory();
      const models = ['a', 'b'].map((name, seed) => writeLarge(join(root, name), 4, 8, seed));
      let isWritten = false;
      const onProgress = () => {
        if (!isWritten) overwriteBetweenSamples(join(models[0] ?? '', 'model.safetensors'));
        isWritten = true;
      };
      const run = soup({ models }, { out: join(root, 'out'), ...(link && { link }), onProgress });
      await expect(run).rejects.toMatchObject(changed);
    },
  );

  it('stay what they were when a new file takes their name, but are no longer what has the name', async () => {
    const { inputs, file } = await planned();
    await using opened = await InputFiles.open(inputs, sources);
    copyFileSync(file, `${file}.new`);
    renameSync(`${file}.new`, file);
    await opened.verify();
    await expect(opened.verifyPath(file)).rejects.toMatchObject(changed);
  });

  it('are known by all their bytes where they were identified so', async () => {
    const { inputs, file } = await planned();
    const [input] = inputs;
    const { ctimeNs, nlink } = statSync(file, { bigint: true });
    const { createHash } = await import('node:crypto');
    const hash = createHash('sha256').update(readFileSync(file)).digest('hex');
    const seen = { ctimeNs: String(ctimeNs), links: Number(nlink), hash, hashOf: 'bytes' } as const;
    const known = [
      { ...(input as PlannedInput), files: (input?.files ?? []).map((of) => ({ ...of, seen })) },
    ];
    await using opened = await InputFiles.open(known, sources);
    chmodSync(file, 0o600);
    await opened.verify();
    overwrite(file);
    await expect(opened.verify()).rejects.toMatchObject(changed);
  });
});

describe('inputs between plan and run', () => {
  it('may be linked, and have their times put back, where nothing but headers was read', async () => {
    const { root, task, language } = writePair();
    const plan = await planMerge({ method: 'soup', models: [task, language] });
    linkSync(join(task, 'model.safetensors'), join(root, 'link'));
    await runPlan(plan, { out: join(root, 'out') });
  });

  it('are refused where their header is another one', async () => {
    const { root, task, language } = writePair();
    const plan = await planMerge({ method: 'soup', models: [task, language] });
    const file = join(task, 'model.safetensors');
    const { atime, mtime } = statSync(file);
    const bytes = readFileSync(file);
    writeFileSync(file, Buffer.from(bytes.toString('latin1').replace('q_proj', 'Q_proj'), 'latin1'));
    utimesSync(file, atime, mtime);
    await expect(runPlan(plan, { out: join(root, 'out') })).rejects.toMatchObject(changed);
  });

  it.each([
    [
      'weights by magnitude',
      (task: string, language: string, base: string) => ({
        method: 'soup',
        base,
        models: [task, language],
        weights: 'magnitude',
      }),
    ],
    [
      'thresholds over whole models',
      (task: string, language: string, base: string) => ({
        method: 'ties',
        dialect: 'paper',
        base,
        models: [task, language],
        weights: [1, 1],
        density: 0.5,
      }),
    ],
  ])('are refused where %s were measured before they were written', async (_, recipeOf) => {
    const { root, task, language } = writePair();
    const base = writeCheckpoint(join(root, 'base'), llama({ seed: 10 }));
    const plan = await planMerge(recipeOf(task, language, base) as never);
    overwrite(join(task, 'model.safetensors'));
    await expect(runPlan(plan, { out: join(root, 'out') })).rejects.toMatchObject(changed);
  });

  it('may be linked where they were measured', async () => {
    const { root, task, language } = writePair();
    const base = writeCheckpoint(join(root, 'base'), llama({ seed: 10 }));
    const plan = await planMerge({ method: 'soup', base, models: [task, language], weights: 'magnitude' });
    linkSync(join(task, 'model.safetensors'), join(root, 'link'));
    await runPlan(plan, { out: join(root, 'out') });
  });
});

const writeByLayer = (root: string): { byLayer: string; file: string } => {
  const { tensors, config } = llama({ seed: 11 });
  const names = Object.keys(tensors);
  const inLayer = (layer: number) => names.filter((name) => name.startsWith(`model.layers.${layer}.`));
  const outside = names.filter((name) => !name.startsWith('model.layers.'));
  const shards = [...Array.from({ length: 8 }, (_, layer) => inLayer(layer)), outside];
  const byLayer = writeCheckpoint(join(root, 'by-layer'), { tensors, shards, config });
  return { byLayer, file: join(byLayer, 'model-1.safetensors') };
};

describe('a merge that links input files', () => {
  it('does not take its own links for changes, run after run', async () => {
    const { root, task, language } = writePair();
    const { byLayer, file } = writeByLayer(root);
    const before = statSync(file).nlink;
    const options = { out: join(root, 'out'), link: 'hard', force: true } as const;
    for (let run = 0; run < 3; run += 1) {
      await layerSwap({ task: byLayer, language, bottom: 1, top: 1 }, options);
      await layerSwap(
        { task: byLayer, language: task, bottom: 2, top: 1 },
        { ...options, out: join(root, 'other') },
      );
    }
    rmSync(join(root, 'out'), { recursive: true });
    rmSync(join(root, 'other'), { recursive: true });
    expect(statSync(file).nlink).toBe(before);
  });

  it('by symbolic links is refused where a file was replaced before the end', async () => {
    const { root, language } = writePair();
    const { byLayer, file } = writeByLayer(root);
    const onProgress = () => {
      copyFileSync(file, `${file}.new`);
      renameSync(`${file}.new`, file);
    };
    const run = layerSwap(
      { task: language, language: byLayer, bottom: 1, top: 1 },
      { out: join(root, 'out'), link: 'symbolic', onProgress },
    );
    await expect(run).rejects.toMatchObject(changed);
  });
});
