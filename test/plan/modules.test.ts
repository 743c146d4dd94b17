import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { checkPlan } from '../../src/core/plan/check/check-plan.js';
import {
  layerSwap,
  merge,
  openCheckpoint,
  planMerge,
  relayout,
  runExperiment,
  soup,
} from '../../src/index.js';
import {
  fill,
  safetensors,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { familyFixture } from '../fixtures/families.js';
import { average, readTensors } from '../fixtures/merged.js';

const { shapes, config } = familyFixture('bert-embedding');

/** The modules of a sentence-transformers model, as version 6.2 lists them. */
const modules = JSON.stringify([
  { idx: 0, name: '0', path: '', type: 'sentence_transformers.models.Transformer' },
  { idx: 1, name: '1', path: '1_Pooling', type: 'sentence_transformers.models.Pooling' },
  { idx: 2, name: '2', path: '2_Dense', type: 'sentence_transformers.models.Dense' },
  { idx: 3, name: '3', path: '3_Dense', type: 'sentence_transformers.models.Dense' },
]);

const dense = (seed: number): Tensors => fill({ 'linear.weight': [8, 32], 'linear.bias': [8] }, 'F32', seed);

const write = (directory: string, files: Readonly<Record<string, string | Uint8Array>>): void => {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
};

const sentences = (directory: string, seed: number): Tensors => {
  const own = fill(shapes, 'F32', seed);
  writeCheckpoint(directory, { tensors: own, config: { ...config } });
  const of = { '2_Dense': dense(seed + 10), '3_Dense': dense(seed + 20) };
  write(directory, {
    'modules.json': modules,
    '1_Pooling/config.json': '{"embedding_dimension": 32}',
    ...Object.fromEntries(
      Object.entries(of).flatMap(([folder, tensors]) => [
        [`${folder}/config.json`, '{"in_features": 32}'],
        [`${folder}/model.safetensors`, safetensors(tensors)],
      ]),
    ),
  });
  const inFolders = Object.entries(of).flatMap(([folder, tensors]) =>
    Object.entries(tensors).map(([name, tensor]) => [`${folder}/${name}`, tensor] as const),
  );
  return { ...own, ...Object.fromEntries(inFolders) };
};

const pair = () => {
  const root = temporaryDirectory();
  const at = (name: string) => join(root, name);
  return { at, a: at('a'), b: at('b'), ofA: sentences(at('a'), 1), ofB: sentences(at('b'), 2) };
};

const mean = (ofA: Tensors, ofB: Tensors, name: string): Uint8Array =>
  average(
    'F32',
    [ofA, ofB].flatMap((of) => of[name] ?? []),
    [1, 1],
  );

describe('a model of sentence-transformers', () => {
  it('has the tensors of its modules, behind its layers', async () => {
    const { at, a } = pair();
    const { tensors, files } = await openCheckpoint(a);
    expect([...tensors.keys()].filter((name) => name.includes('/')).sort()).toEqual([
      '2_Dense/linear.bias',
      '2_Dense/linear.weight',
      '3_Dense/linear.bias',
      '3_Dense/linear.weight',
    ]);
    expect(files.map(({ path }) => path)).toContain(at('a/2_Dense/model.safetensors'));
  });

  it.each(['layer', 'size'] as const)(
    'is averaged with its modules, each in its folder, by %s',
    async (layout) => {
      const { at, a, b, ofA, ofB } = pair();
      const { warnings } = await soup({ models: [a, b] }, { out: at('out'), layout });
      expect(warnings).toEqual([]);
      const merged = await readTensors(at('out'));
      expect(Object.keys(merged).sort()).toEqual(Object.keys(ofA).sort());
      for (const [name, { data }] of Object.entries(merged))
        expect([name, Buffer.from(data).equals(mean(ofA, ofB, name))]).toEqual([name, true]);
      for (const file of [
        'modules.json',
        '1_Pooling/config.json',
        '2_Dense/config.json',
        '3_Dense/config.json',
      ])
        expect(readFileSync(join(at('out'), file))).toEqual(readFileSync(join(a, file)));
      // Files beside the model name only the model's tensors, and a module's file only its own.
      const index = join(at('out'), 'model.safetensors.index.json');
      expect(existsSync(index)).toBe(layout === 'layer');
      if (layout === 'layer') expect(readFileSync(index, 'utf8')).not.toContain('linear.weight');
      const file = readFileSync(at('out/2_Dense/model.safetensors'));
      const header = JSON.parse(file.subarray(8, 8 + Number(file.readBigUInt64LE())).toString()) as object;
      expect(Object.keys(header).sort()).toEqual(['__metadata__', 'linear.bias', 'linear.weight']);
    },
  );

  it('is made again by its record and by its card, which know files of modules by their folders', async () => {
    const { at, a, b } = pair();
    await soup({ models: [a, b] }, { out: at('out') });
    for (const record of ['layerloom.json', 'README.md']) {
      await merge(at(`out/${record}`), { out: at('again'), force: true });
      for (const file of ['2_Dense/model.safetensors', '3_Dense/model.safetensors'])
        expect(readFileSync(join(at('again'), file))).toEqual(readFileSync(join(at('out'), file)));
    }
  });

  it('keeps its modules where others are the task expert’s, to the byte', async () => {
    const { at, a, b, ofA } = pair();
    await layerSwap({ task: a, language: b, bottom: 1, top: 1, others: 'task' }, { out: at('out') });
    const merged = await readTensors(at('out'));
    for (const name of Object.keys(ofA).filter((one) => one.includes('/')))
      expect(merged[name]?.data).toEqual(Buffer.from(ofA[name]?.data ?? []));
  });

  it('goes through other commands whole, and its output can be replaced', async () => {
    const { at, a, ofA } = pair();
    for (const force of [false, true]) await relayout({ model: a }, { out: at('out'), force });
    expect(await readTensors(at('out'))).toEqual(
      Object.fromEntries(
        Object.entries(ofA).map(([name, tensor]) => [name, { ...tensor, data: Buffer.from(tensor.data) }]),
      ),
    );
  });

  it('is made in batches, where modules are shared too', async () => {
    const { at, ofA, ofB } = pair();
    writeFileSync(
      at('study.yaml'),
      'tasks: {a: ./a}\nlanguages: {x: {b: ./b}}\nmerges:\n  - {name: soup, method: soup}\n  - {name: swap, method: layer_swap, bottom: 1, top: [0, 1]}\n',
    );
    const { merges } = await runExperiment(at('study.yaml'), { out: at('study') });
    expect(merges.map(({ state }) => state)).toEqual(['done', 'done', 'done']);
    for (const { name } of merges) {
      const merged = await readTensors(join(at('study'), name));
      expect(merged['2_Dense/linear.weight']?.data).toEqual(
        Buffer.from(mean(ofA, ofB, '2_Dense/linear.weight')),
      );
    }
  });

  it('is not merged with one that lacks a module', async () => {
    const { at, a } = pair();
    cpSync(a, at('c'), { recursive: true });
    writeFileSync(at('c/modules.json'), '[]');
    cpSync(at('c/2_Dense'), at('c/4_Dense'), { recursive: true });
    await expect(soup({ models: [a, at('c')] }, { out: at('out') })).rejects.toMatchObject({
      code: 'TENSOR_NAMES_DIFFER',
    });
  });

  it.each<[string, (file: string, name: string) => [string, string]]>([
    ['a tensor in the folder of another module', (file, name) => [file.replace('2_', '3_'), name]],
    ['a folder that is no module’s', (file, name) => [file.replace('2_Dense', '../out'), name]],
    ['a tensor of the model in a folder', (file, name) => [file, name.replace('2_Dense/', '')]],
  ])('has no plan with %s', async (_, tampered) => {
    const { a, b } = pair();
    const plan = await planMerge({ method: 'soup', models: [a, b] });
    expect(() => checkPlan(plan)).not.toThrow();
    const shards = plan.shards.map((shard) => {
      if (!shard.file.startsWith('2_Dense/')) return shard;
      const tensors = shard.tensors.map((tensor) => ({
        ...tensor,
        name: tampered(shard.file, tensor.name)[1],
      }));
      return { ...shard, file: tampered(shard.file, '')[0], tensors };
    });
    expect(() => checkPlan({ ...plan, shards })).toThrow(expect.objectContaining({ code: 'PLAN_INVALID' }));
  });
});
