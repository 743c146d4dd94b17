import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { formatLayers, parseLayers } from '../../src/core/methods/framework/layer-set.js';
import { layerSwap, merge, planMerge, type RecipeInput } from '../../src/index.js';
import { llama, type Tensors, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { hashOf } from '../fixtures/contents.js';
import { average, readTensors } from '../fixtures/merged.js';

const layers = 6;

const writeFour = (options = {}) => {
  const root = temporaryDirectory();
  const write = (name: string, seed: number) => {
    const fixture = llama({ layers, seed, tied: false, ...options });
    return { path: writeCheckpoint(join(root, name), fixture), tensors: fixture.tensors };
  };
  const [task, language, other, base] = [
    write('task', 1),
    write('language', 2),
    write('other', 3),
    write('base', 4),
  ];
  return { root, task, language, other, base, out: join(root, 'out') };
};

type Four = ReturnType<typeof writeFour>;

const layerOf = (name: string): number | undefined => {
  const digits = /layers\.(\d+)\./.exec(name)?.[1];
  return digits === undefined ? undefined : Number(digits);
};

const moduleOf = (name: string): string => {
  if (/self_attn/.test(name)) return 'attention';
  if (/mlp/.test(name)) return 'feed_forward';
  if (/norm/.test(name)) return 'norms';
  return /embed/.test(name) ? 'embeddings' : 'head';
};

const bytes = (tensors: Tensors, name: string) => Buffer.from(tensors[name]?.data ?? []);

/**
 * Expects each tensor of an output to come from the model that a function of its name returns, or an average.
 */
const expectFrom = async (
  out: string,
  of: (name: string) => Four['task'] | readonly Four['task'][],
  weights: readonly number[] = [1, 1],
) => {
  const merged = await readTensors(out);
  expect(Object.keys(merged).length).toBe(3 + 8 * layers);
  for (const [name, { data, dtype }] of Object.entries(merged)) {
    const from = of(name);
    const expected =
      'path' in from
        ? bytes(from.tensors, name)
        : average(
            dtype as 'BF16',
            from.map(({ tensors }) => tensors[name] as Tensors[string]),
            weights,
          );
    expect([name, Buffer.from(data).equals(Buffer.from(expected))]).toEqual([name, true]);
  }
};

const swapOf = (four: Four, more: object) => ({
  task: four.task.path,
  language: four.language.path,
  ...more,
});
const recipe = (more: object) => ({ method: 'layer_swap', ...more }) as unknown as RecipeInput;

describe('sets of layers', () => {
  it('are numbers and ranges, in any order, and are written shortest', () => {
    expect(parseLayers('30,0-4, 31')).toEqual([0, 1, 2, 3, 4, 30, 31]);
    expect(parseLayers(7)).toEqual([7]);
    expect(parseLayers(['0–2', 9])).toEqual([0, 1, 2, 9]);
    expect(formatLayers([0, 1, 2, 4, 30, 31])).toBe('0-2,4,30-31');
  });

  it('are read as they are written', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(9999), { minLength: 1, maxLength: 60 }), (numbers) => {
        const sorted = [...numbers].sort((a, b) => a - b);
        expect(parseLayers(formatLayers(sorted))).toEqual(sorted);
      }),
    );
  });

  it.each(['', '4-0', '1,,2', '0-3,2', '1.5', '-1', 'rest', '0-99999', '1e3', '0x1'])('refuse %j', (text) =>
    expect(parseLayers(text)).toBeUndefined(),
  );
});

describe('a swap of layers that are named', () => {
  it('takes them from the language expert and from the base, the others from the task expert', async () => {
    const four = writeFour();
    const { task, language, base, out } = four;
    await layerSwap(swapOf(four, { base: base.path, langLayers: '0,3-4', baseLayers: 2 }), { out });
    await expectFrom(out, (name) => {
      const layer = layerOf(name);
      if (layer === undefined) return [task, language];
      return layer === 2 ? base : [0, 3, 4].includes(layer) ? language : task;
    });
  });

  it('makes the same bytes as the counts and the parts that name the same layers', async () => {
    const four = writeFour();
    const { task, language, root } = four;
    const outside = { models: [task.path, language.path], layers: 'outside' };
    const ways = [
      swapOf(four, { bottom: 2, top: 1 }),
      swapOf(four, { langLayers: '0-1,5' }),
      { parts: [{ model: language.path, layers: '0-1,5' }, outside, { model: task.path, layers: 'rest' }] },
      swapOf(four, {
        parts: [
          { model: 'task', layers: '2-4' },
          { model: 'language', layers: [0, 1, 5] },
          { models: ['task', 'language'], weights: [3, 3], layers: 'rest' },
        ],
      }),
    ];
    const hashes = await Promise.all(
      ways.map(async (way, index) => hashOf((await merge(recipe(way), { out: join(root, `${index}`) })).out)),
    );
    expect(new Set(hashes).size).toBe(1);
  });

  it('averages what is outside by its weights, or takes it from one expert', async () => {
    const four = writeFour();
    const { task, language, root } = four;
    const swap = (name: string, more: object) =>
      layerSwap(swapOf(four, { langLayers: 1, ...more }), { out: join(root, name) });
    const inside = (name: string) => (layerOf(name) === 1 ? language : task);
    const { out } = await swap('weighted', { weights: [1, 3] });
    await expectFrom(out, (name) => (layerOf(name) === undefined ? [task, language] : inside(name)), [1, 3]);
    const { out: own } = await swap('own', { others: 'language' });
    await expectFrom(own, (name) => (layerOf(name) === undefined ? language : inside(name)));
  });

  it('counts layers from both ends beside those of the base', async () => {
    const four = writeFour();
    const { task, language, base, out } = four;
    await layerSwap(swapOf(four, { base: base.path, bottom: 1, top: 1, baseLayers: '2-3', others: 'task' }), {
      out,
    });
    await expectFrom(out, (name) => {
      const layer = layerOf(name) ?? -1;
      if ([0, 5].includes(layer)) return language;
      return [2, 3].includes(layer) ? base : task;
    });
  });
});

describe('parts of a swap', () => {
  it('come from any number of models, by layers and by modules', async () => {
    const four = writeFour();
    const { task, language, other, base, out } = four;
    await merge(
      recipe({
        base: base.path,
        parts: [
          { model: language.path, layers: '0-2', modules: ['attention', 'norms'] },
          { model: other.path, layers: '0-2', modules: 'feed_forward' },
          { model: 'base', layers: 5 },
          { model: other.path, modules: ['embeddings', 'head'] },
          { models: [task.path, language.path, base.path], weights: [1, 2, 1], layers: 3 },
          { model: task.path, layers: 'rest' },
        ],
      }),
      { out },
    );
    await expectFrom(
      out,
      (name) => {
        const [layer, module] = [layerOf(name), moduleOf(name)];
        if (layer === undefined) return module === 'norms' ? task : other;
        if (layer <= 2) return module === 'feed_forward' ? other : language;
        if (layer === 3) return [task, language, base];
        return layer === 5 ? base : task;
      },
      [1, 2, 1],
    );
  });

  it('have what is left of modules before what is left of all', async () => {
    const { task, language, other, out } = writeFour();
    const parts = [
      { model: other.path, layers: 4 },
      { model: language.path, layers: 'rest', modules: 'attention' },
      { model: task.path, layers: 'rest' },
    ];
    await merge(recipe({ parts }), { out });
    await expectFrom(out, (name) => {
      if (layerOf(name) === 4) return other;
      return moduleOf(name) === 'attention' ? language : task;
    });
  });

  it('never compute what one model gives: a part of weight 0 is not read', async () => {
    const { task, language } = writeFour();
    const parts = [
      { models: [task.path, language.path], weights: [0, 2], layers: '0-5' },
      { model: task.path, layers: 'rest' },
    ];
    const { shards } = await planMerge(recipe({ parts }));
    const tensors = shards.flatMap((shard) => shard.tensors);
    expect(new Set(tensors.map(({ expression }) => expression.kind))).toEqual(new Set(['copy']));
  });

  it('take names, configuration and side files from the task expert, or else from the model of the rest', async () => {
    const { task, language } = writeFour();
    const parts = [
      { model: task.path, layers: '0-2' },
      { model: language.path, layers: 'rest' },
    ];
    const donorOf = async (more: object) => (await planMerge(recipe({ parts, ...more }))).inputs[0]?.name;
    expect(await donorOf({})).toBe('language');
    const norms = { model: task.path, layers: 'rest', modules: 'norms' };
    expect(await donorOf({ parts: [norms, { model: language.path, layers: 'rest' }] })).toBe('language');
    expect(await donorOf({ task: task.path })).toBe('task');
  });

  it('make the same merge again from the recipe that is recorded', async () => {
    const { task, language, root } = writeFour();
    const parts = [
      { models: [task.path, language.path], weights: [1, 3], layers: '1, 3-4', modules: ['attention'] },
      { model: { method: 'soup', models: [task.path, language.path] }, layers: 0 },
      { model: task.path, layers: 'rest' },
    ];
    const { out } = await merge(recipe({ parts }), { out: join(root, 'first') });
    const { out: again } = await merge(join(out, 'layerloom.json'), { out: join(root, 'again') });
    expect(hashOf(again)).toBe(hashOf(out));
    expect((await planMerge(recipe({ parts }))).recipe).toMatchObject({
      parts: [
        { models: ['task', 'language'], weights: [0.25, 0.75], layers: '1,3-4', modules: ['attention'] },
        { model: { method: 'soup' }, layers: '0' },
        { model: 'task', layers: 'rest' },
      ],
    });
  });

  it('read from a file name models from its folder, and the recipe’s own by their words', async () => {
    const { root, task, language, out } = writeFour();
    const file = join(root, 'parts.yaml');
    writeFileSync(
      file,
      'method: layer_swap\ntask: ./task\nlanguage: ./language\nparts:\n  - {model: language, layers: 0-1}\n  - {model: ./task, layers: rest}\n',
    );
    await merge(file, { out });
    await expectFrom(out, (name) => ((layerOf(name) ?? 9) <= 1 ? language : task));
  });

  const refused: [string, object, string, string | RegExp][] = [
    [
      'a layer that two parts take',
      { parts: [['0-3'], ['3-4']] },
      'PARTS_INVALID',
      /part 1 and part 2 both take layer 3 \(/,
    ],
    [
      'layers that no part takes',
      { parts: [['0-1,4'], ['outside']] },
      'PARTS_INVALID',
      /no part takes layers 2-3,5 \(/,
    ],
    [
      'what is outside and in no part',
      { parts: [['0-5']] },
      'PARTS_INVALID',
      /no part takes embeddings, .*outside the layers/,
    ],
    [
      'a layer that there is not',
      { parts: [['0-6'], ['rest']] },
      'PARTS_INVALID',
      /part 1 names layer 6, but the models have 6: 0-5/,
    ],
    [
      'modules that no model has',
      { parts: [['0-1', 'embeddings'], ['rest']] },
      'PARTS_INVALID',
      /part 1 takes no tensor/,
    ],
    [
      'a module by another name',
      { parts: [['0-1', 'mlp'], ['rest']] },
      'INVALID_PARAMETER',
      /attention, feed_forward/,
    ],
    ['a layer that is named twice', { parts: [['0-3,2'], ['rest']] }, 'INVALID_PARAMETER', /named once/],
    ['two parts for the rest', { parts: [['rest'], ['rest']] }, 'PARTS_INVALID', /both take/],
    ['a part of all', { parts: [[undefined], ['rest']] }, 'INVALID_PARAMETER', /layers or modules/],
    ['no parts', { parts: [] }, 'INVALID_PARAMETER', /at least one part/],
    [
      'counts beside parts',
      { parts: [['rest']], bottom: 3 },
      'INVALID_PARAMETER',
      /not to be given with parts/,
    ],
    [
      'a set beside parts',
      { parts: [['rest']], langLayers: 3 },
      'INVALID_PARAMETER',
      /not to be given with parts/,
    ],
  ];
  it.each(refused)(
    'refuse %s',
    async (_, { parts, ...more }: { parts?: (string | undefined)[][] }, code, message) => {
      const { task, language } = writeFour();
      const given = (parts ?? []).map(([of, modules], index) => ({
        model: index === 0 ? language.path : task.path,
        ...(of === undefined ? {} : { layers: of }),
        ...(modules === undefined ? {} : { modules }),
      }));
      await expect(planMerge(recipe({ parts: given, ...more }))).rejects.toMatchObject({
        code,
        exitCode: 2,
        message: expect.stringMatching(message),
      });
    },
  );

  it.each<[string, (four: Four) => object, RegExp]>([
    [
      'no expert to take the rest from',
      ({ language }) => ({ language: language.path, langLayers: 1 }),
      /task/,
    ],
    [
      'base layers without a base',
      (four) => swapOf(four, { langLayers: 1, baseLayers: 2 }),
      /base is missing/,
    ],
    [
      'a part of a base that is not named',
      () => ({ parts: [{ model: 'base', layers: 'rest' }] }),
      /parts\.0\.model means by base/,
    ],
    [
      'both a model and models',
      ({ task }) => ({ parts: [{ model: task.path, models: [task.path], layers: 'rest' }] }),
      /either model, or models/,
    ],
    [
      'weights of another number',
      ({ task }) => ({ parts: [{ models: [task.path], weights: [1, 1], layers: 'rest' }] }),
      /one weight for each/,
    ],
    [
      'transitions beside a set',
      (four) => swapOf(four, { langLayers: 1, topTransition: 1 }),
      /not to be given with/,
    ],
    [
      'a set beside a partition',
      (four) => swapOf(four, { langLayers: 1, partition: { both: ['*'] } }),
      /not to be given with a partition/,
    ],
  ])('refuse %s', async (_, given, message) => {
    await expect(planMerge(recipe(given(writeFour())))).rejects.toMatchObject({
      code: 'INVALID_PARAMETER',
      message: expect.stringMatching(message),
    });
  });

  it('refuse layers that both experts are asked for', async () => {
    const four = writeFour();
    const swap = { base: four.base.path, langLayers: '0-2', baseLayers: '2-3' };
    await expect(planMerge(recipe(swapOf(four, swap)))).rejects.toMatchObject({
      code: 'PARTS_INVALID',
      details: { parts: ['`langLayers`', '`baseLayers`'], layers: '2' },
    });
  });

  it('refuse a head that the embeddings are', async () => {
    const { task, language } = writeFour({ tied: true });
    const parts = [
      { model: language.path, modules: 'head' },
      { model: task.path, layers: 'rest' },
    ];
    await expect(planMerge(recipe({ parts }))).rejects.toMatchObject({
      code: 'PARTS_INVALID',
      message: expect.stringContaining('a head that is the embeddings'),
    });
  });
});
