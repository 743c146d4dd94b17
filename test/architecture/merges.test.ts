import { renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  analyze,
  exportRecipe,
  layerSwap,
  merge,
  partition,
  planMerge,
  recipeOf,
  revert,
  runExperiment,
  soup,
} from '../../src/index.js';
import { type TensorFixture, writeCheckpoint } from '../fixtures/checkpoints.js';
import { familyFixture, familyFixtures } from '../fixtures/families.js';
import { type Family, writeFamilyOf } from '../fixtures/family.js';
import { average, readTensors, zoneOf } from '../fixtures/merged.js';
import { tokenizerFiles } from '../fixtures/vocabulary.js';

/** The layer number in a name, by the library's name of the stack; undefined outside layers. */
const layerIn = (stack: string) => {
  // Files have other prefixes than the library, and other towers have their own stacks.
  const word = stack.split('.').slice(/(en|de)coder\./.test(stack) ? -2 : -1);
  const pattern = new RegExp(`(^|\\.)${word.join('\\.')}\\.(?<layer>\\d+)\\.`);
  return (name: string): number | undefined => {
    if (/vision|visual/.test(name)) return undefined;
    // Position biases of T5 and mT5: the first block computes them for all.
    if (/^(en|de)coder\.block\.0\..*relative_attention_bias/.test(name)) return undefined;
    const layer = pattern.exec(name)?.groups?.['layer'];
    return layer === undefined ? undefined : Number(layer);
  };
};

const counts = { bottom: 1, top: 0, bottomTransition: 1, topTransition: 0 };

const words = (count: number): string[] => Array.from({ length: count }, (_, id) => `t${id}`);

const tensorAt = (tensors: Readonly<Record<string, TensorFixture>>, name: string): TensorFixture => {
  const found = tensors[name];
  if (found === undefined) throw new RangeError(`${name} is not there`);
  return found;
};

const cases = Object.entries(familyFixtures).flatMap(([family, { stacks, config }]) => {
  const own = Object.entries(stacks).filter(([stack]) => !/vision|visual/.test(stack));
  return own.map(([stack, layers]) => ({
    family,
    stack,
    layers,
    // UMT5 has position biases in each block.
    ofUmt5: config['model_type'] === 'umt5',
    asked: own.length > 1 ? stack : undefined,
  }));
});

const writeFixture = (family: string): Family => {
  const { shapes, config } = familyFixture(family);
  return writeFamilyOf(shapes, 'F32', { ...config });
};

describe.each(cases)('$family: $stack', ({ family, stack, layers, asked, ofUmt5 }) => {
  const plain = layerIn(stack);
  const at = (name: string) =>
    ofUmt5 && /relative_attention_bias/.test(name) && name.startsWith(stack)
      ? Number(name.split('.')[2])
      : plain(name);

  it('is swapped and reverted layer by layer, and averaged as a whole', async () => {
    const { root, base, a, b, tensors } = writeFixture(family);
    const out = (name: string) => join(root, name);
    const expectEach = async (path: string, expected: (name: string) => Uint8Array) => {
      const merged = await readTensors(path);
      expect(Object.keys(merged).sort()).toEqual(Object.keys(tensors.a).sort());
      for (const [name, { data }] of Object.entries(merged))
        expect([name, Buffer.from(data).equals(expected(name))]).toEqual([name, true]);
    };
    const mean = (name: string) =>
      average('F32', [tensorAt(tensors.a, name), tensorAt(tensors.b, name)], [1, 1]);

    await layerSwap({ task: a, language: b, stack: asked, ...counts }, { out: out('swapped') });
    await expectEach(out('swapped'), (name) => {
      const layer = at(name);
      const zone = layer === undefined ? 'average' : zoneOf(layer, { layers, ...counts });
      return zone === 'average' ? mean(name) : tensorAt(zone === 'task' ? tensors.a : tensors.b, name).data;
    });

    await revert({ base, model: a, bottom: 1, top: 1, stack: asked }, { out: out('reverted') });
    await expectEach(out('reverted'), (name) => {
      const layer = at(name);
      return tensorAt(layer === 0 || layer === layers - 1 ? tensors.base : tensors.a, name).data;
    });

    const { warnings } = await soup({ models: [a, b] }, { out: out('soup') });
    expect(warnings.filter((warning) => /family|stack/.test(warning))).toEqual([]);
    await expectEach(out('soup'), mean);
  });
});

describe('a diffusion transformer', () => {
  it('is read as diffusers wrote it, also in shards, and says how the output must be called', async () => {
    const { root, a, b, tensors } = writeFixture('flux');
    renameSync(join(a, 'model.safetensors'), join(a, 'diffusion_pytorch_model.safetensors'));
    const shard = 'diffusion_pytorch_model-00001-of-00001.safetensors';
    renameSync(join(b, 'model.safetensors'), join(b, shard));
    const weightMap = Object.fromEntries(Object.keys(tensors.b).map((name) => [name, shard]));
    writeFileSync(
      join(b, 'diffusion_pytorch_model.safetensors.index.json'),
      JSON.stringify({ weight_map: weightMap }),
    );
    const out = join(root, 'out');
    const { warnings } = await soup({ models: [a, b] }, { out, layout: 'size' });
    expect(warnings).toEqual([expect.stringMatching(/diffusion_pytorch_model\.safetensors.*rename it/)]);
    for (const [name, { data }] of Object.entries(await readTensors(out)))
      expect(data).toEqual(
        Buffer.from(average('F32', [tensorAt(tensors.a, name), tensorAt(tensors.b, name)], [1, 1])),
      );
  });
});

describe('a model with an encoder and a decoder', () => {
  it('is swapped only where one is chosen', async () => {
    const { a, b } = writeFixture('m2m-100');
    await expect(planMerge({ method: 'layer_swap', task: a, language: b })).rejects.toMatchObject({
      code: 'STACKS_AMBIGUOUS',
      message: expect.stringMatching(/`stack: '(en|de)coder'`.*decoder, encoder/) as string,
    });
    await expect(
      planMerge({ method: 'layer_swap', task: a, language: b, stack: 'vision' }),
    ).rejects.toMatchObject({ code: 'INVALID_PARAMETER', context: { recipePath: ['stack'] } });
  });

  it('is made again from its recipe, which names the stack', async () => {
    const { root, a, b } = writeFixture('t5');
    const plan = await planMerge({ method: 'layer_swap', task: a, language: b, stack: 'encoder', ...counts });
    expect(plan.completeRecipe).toMatchObject({ stack: 'encoder' });
    const [first, second] = [join(root, 'first'), join(root, 'second')];
    await layerSwap({ task: a, language: b, stack: 'encoder', ...counts }, { out: first });
    await merge(recipeOf(plan), { out: second });
    expect(await readTensors(second)).toEqual(await readTensors(first));
  });

  it('may be merged of recipes that choose different stacks', async () => {
    const { root, a, b, tensors } = writeFixture('bart');
    const out = join(root, 'out');
    const inner = {
      method: 'layer_swap' as const,
      task: a,
      language: b,
      stack: 'encoder',
      bottom: 3,
      top: 0,
    };
    await layerSwap(
      { task: inner, language: b, stack: 'decoder', bottom: 3, top: 0, others: 'task' },
      { out },
    );
    const merged = await readTensors(out);
    for (const [name, { data }] of Object.entries(merged))
      if (/\.layers\.\d+\./.test(name)) expect(data).toEqual(Buffer.from(tensorAt(tensors.b, name).data));
  });

  it('has magnitude weights of all that changed', async () => {
    const { root, base, a, b } = writeFixture('t5');
    const { recipe: made } = await layerSwap(
      { task: a, language: b, base, stack: 'decoder', weights: 'magnitude', ...counts },
      { out: join(root, 'out') },
    );
    expect(made['magnitude_weights']).toHaveLength(2);
  });

  it('is analysed by the layers of the one that is chosen', async () => {
    const { root, base, a } = writeFixture('whisper');
    await expect(analyze({ base, experts: [a] }, { out: join(root, 'none') })).rejects.toMatchObject({
      code: 'STACKS_AMBIGUOUS',
    });
    const { experts } = await analyze(
      { base, experts: [a], stack: 'decoder' },
      { out: join(root, 'analysis') },
    );
    const layered = Object.entries(experts[0]?.tensors ?? {}).filter(([, { layer }]) => layer !== null);
    expect(layered.length).toBeGreaterThan(0);
    expect(layered.every(([name]) => name.startsWith('model.decoder.layers.'))).toBe(true);
  });

  it('is divided for training by the layers of the one that is chosen', async () => {
    const { base } = writeFixture('t5');
    await expect(partition(base, { bottom: 1, top: 1 })).rejects.toMatchObject({ code: 'STACKS_AMBIGUOUS' });
    const { partition: found } = await partition(base, { bottom: 1, top: 1, stack: 'decoder' });
    expect(found).toMatchObject({ layers: 3, stack: 'decoder.block' });
    const middle = found.parts.task.filter((name) => name.startsWith('decoder.block.'));
    expect(middle.length).toBeGreaterThan(0);
    expect(middle.every((name) => name.startsWith('decoder.block.1.'))).toBe(true);
    expect(found.parts.task.filter((name) => name.startsWith('encoder.'))).toEqual([]);
  });

  it('is merged in experiments, where a list of stacks is a grid', async () => {
    const { root, tensors } = writeFixture('bart');
    writeFileSync(
      join(root, 'study.yaml'),
      'tasks: {a: ./a}\nlanguages: {x: {b: ./b}}\nmerges: [{name: swap, method: layer_swap, stack: [encoder, decoder], bottom: 3, top: 0}]\n',
    );
    const { merges } = await runExperiment(join(root, 'study.yaml'), { out: join(root, 'study') });
    expect(merges.map(({ state }) => state)).toEqual(['done', 'done']);
    for (const { name } of merges) {
      const stack = /encoder|decoder/.exec(name)?.[0] ?? '';
      const weight = `model.${stack}.layers.1.fc1.weight`;
      const merged = await readTensors(join(root, 'study', name));
      expect(merged[weight]?.data).toEqual(Buffer.from(tensorAt(tensors.b, weight).data));
    }
  });

  it('is no merge that mergekit’s dialect says', async () => {
    const { a, b } = writeFixture('t5');
    const recipe = { method: 'layer_swap' as const, task: a, language: b, stack: 'encoder', ...counts };
    await expect(exportRecipe(recipe)).rejects.toMatchObject({
      code: 'EXPORT_UNSUPPORTED',
      message: expect.stringContaining('one stack of several') as string,
    });
  });

  it('whose bias has a column for each token is refused where tokens would move', async () => {
    const { root, a, b } = writeFixture('bart');
    const added = [
      ['<a>', '<b>'],
      ['<c>', '<d>'],
    ];
    for (const [index, directory] of [a, b].entries())
      for (const [name, text] of Object.entries(tokenizerFiles(words(94), added[index])))
        writeFileSync(join(directory, name), text);
    await expect(soup({ models: [a, b] }, { out: join(root, 'out') })).rejects.toMatchObject({
      code: 'VOCABULARY_UNMERGEABLE',
      details: { tensor: 'final_logits_bias' },
    });
    for (const [name, text] of Object.entries(tokenizerFiles(words(94), added[0])))
      writeFileSync(join(b, name), text);
    await soup({ models: [a, b] }, { out: join(root, 'out') });
  });

  it('whose older files store shared embeddings again is merged with newer ones', async () => {
    const { shapes, config } = familyFixture('t5');
    const { root, a, tensors } = writeFixture('t5');
    const shared = tensors.b['shared.weight'] as TensorFixture;
    const copies = { 'encoder.embed_tokens.weight': shared, 'lm_head.weight': shared };
    const older = {
      a: writeCheckpoint(join(root, 'older'), { tensors: { ...tensors.b, ...copies }, config }),
    };
    const out = join(root, 'out');
    const { warnings } = await soup({ models: [older.a, a] }, { out });
    expect(Object.keys(await readTensors(out)).sort()).toEqual(Object.keys(shapes).sort());
    expect(warnings.join('\n')).toMatch(/encoder\.embed_tokens\.weight.*left out/);
  });
});
