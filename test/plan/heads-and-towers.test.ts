import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { merge, type RecipeInput, soup } from '../../src/index.js';
import {
  type CheckpointFixture,
  fill,
  llama,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';

const withHead = (seed: number, name: string, architecture: string, labels = 2): CheckpointFixture => {
  const { tensors, config } = llama({ layers: 2, seed });
  return {
    tensors: { ...tensors, ...fill({ [`${name}.weight`]: [labels, 16] }, 'BF16', seed) },
    config: { ...config, architectures: [architecture] },
  };
};
const reward = (seed: number) => withHead(seed, 'score', 'LlamaForSequenceClassification', 1);

const multimodal = (seed: number, types: readonly [whole: string, text: string] = ['llava', 'llama']) => {
  const { tensors, config } = llama({ layers: 2, seed });
  const named = Object.entries(tensors).map(([name, tensor]) => [`language_model.${name}`, tensor]);
  const tower = fill({ 'vision_tower.layers.0.fc1.weight': [4, 4] }, 'BF16', seed);
  const { hidden_size, num_hidden_layers, ...rest } = config ?? {};
  return {
    tensors: { ...Object.fromEntries(named), ...tower },
    config: {
      ...rest,
      architectures: ['LlavaForConditionalGeneration'],
      model_type: types[0],
      text_config: { model_type: types[1], hidden_size, num_hidden_layers },
      vision_config: { hidden_size: 4 },
    },
  };
};

const bytesOf = (tensors: Tensors, name: string): string =>
  Buffer.from(tensors[name]?.data ?? []).toString('hex');

const written = (models: Readonly<Record<string, CheckpointFixture>>) => {
  const root = temporaryDirectory();
  const paths = Object.entries(models).map(([name, model]) => writeCheckpoint(join(root, name), model));
  return { paths, out: join(root, 'out') };
};

describe('a model with towers and a text model', () => {
  it('keep the towers of the first, and merge the language model', async () => {
    const [seen, text] = [multimodal(1), llama({ layers: 2, seed: 2 })];
    const { paths, out } = written({ seen, text });
    const { warnings } = await soup({ models: paths }, { out });
    const found = await readTensors(out);
    const tower = 'vision_tower.layers.0.fc1.weight';
    expect(bytesOf(found, tower)).toBe(bytesOf(seen.tensors, tower));
    expect(Object.keys(found).sort()).toEqual(Object.keys(seen.tensors).sort());
    const norm = 'language_model.model.norm.weight';
    expect(bytesOf(found, norm)).not.toBe(bytesOf(seen.tensors, norm));
    expect(warnings.join('\n')).toContain(
      `text has no ${tower}, of the towers of seen; that of seen is kept`,
    );
  });

  it('are compared by their text settings, in either place where transformers writes them', async () => {
    const nested = multimodal(1, ['qwen2_vl', 'qwen2_vl_text']);
    const { text_config, ...whole } = multimodal(2, ['qwen2_vl', 'qwen2_vl_text']).config;
    const flat = (settings: Readonly<Record<string, unknown>>) => ({
      ...multimodal(2),
      config: { ...whole, ...text_config, ...settings, model_type: 'qwen2_vl' },
    });
    const heads = {
      ...nested,
      config: { ...nested.config, text_config: { ...text_config, num_attention_heads: 4 } },
    };
    const { paths, out } = written({
      heads,
      same: flat({ num_attention_heads: 4 }),
      other: flat({ num_attention_heads: 8 }),
    });
    const [first = '', same = '', other = ''] = paths;
    await soup({ models: [first, same] }, { out });
    await expect(soup({ models: [first, other] }, { out: `${out}-2` })).rejects.toThrow(
      /num_attention_heads 4 against 8/,
    );
  });

  it('lose the towers if the text model is the first, with a warning', async () => {
    const [seen, text] = [multimodal(1), llama({ layers: 2, seed: 2 })];
    const { paths, out } = written({ text, seen });
    const { warnings } = await soup({ models: paths }, { out });
    expect(Object.keys(await readTensors(out)).sort()).toEqual(Object.keys(text.tensors).sort());
    expect(warnings.join('\n')).toContain('of the towers of seen, which the output does not get');
  });

  it('take a language model by the text model that it has the arithmetic of', async () => {
    const text = llama({ layers: 2, seed: 2 });
    const qwen = { ...text, config: { ...text.config, model_type: 'qwen2' } };
    const { paths } = written({ seen: multimodal(1, ['qwen2_5_vl', 'qwen2_5_vl_text']), qwen, text });
    const [seen = '', same = '', other = ''] = paths;
    await soup({ models: [seen, same] }, { out: join(temporaryDirectory(), 'out') });
    await expect(soup({ models: [seen, other] }, { out: join(temporaryDirectory(), 'out') })).rejects.toThrow(
      /model_type "qwen2_5_vl" against "llama"/,
    );
  });

  it.each([
    ['of another family', { model_type: 'llava_next' }],
    ['of another size', { vision_config: { hidden_size: 8 } }],
  ])('keep the towers of the first beside a model with towers %s', async (_, more) => {
    const [a, b] = [multimodal(1), multimodal(2)];
    const other = { ...b, config: { ...b.config, ...more } };
    const { paths, out } = written({ a, other });
    const { warnings } = await soup({ models: paths }, { out });
    const found = await readTensors(out);
    const tower = 'vision_tower.layers.0.fc1.weight';
    expect(bytesOf(found, tower)).toBe(bytesOf(a.tensors, tower));
    const norm = 'language_model.model.norm.weight';
    expect(bytesOf(found, norm)).not.toBe(bytesOf(a.tensors, norm));
    expect(warnings.join('\n')).toContain('a and other have other towers; that of a is kept');
  });

  it('are refused if sizes differ, or if only some of several have the towers', async () => {
    const { paths } = written({ a: multimodal(1), b: multimodal(2), text: llama({ layers: 2, seed: 3 }) });
    const out = join(temporaryDirectory(), 'out');
    await expect(soup({ models: paths }, { out })).rejects.toMatchObject({ code: 'TENSOR_NAMES_DIFFER' });
    const { paths: unequal } = written({ a: multimodal(1), text: llama({ layers: 2, hidden: 32 }) });
    await expect(soup({ models: unequal }, { out })).rejects.toThrow(/hidden_size 16 against 32/);
  });
});

describe('heads', () => {
  it('of two tasks are never averaged, though their names and shapes are equal', async () => {
    const [a, b] = [
      withHead(1, 'score', 'LlamaForTokenClassification'),
      withHead(2, 'score', 'LlamaForSequenceClassification'),
    ];
    const { paths, out } = written({ a, b });
    await soup({ models: paths }, { out });
    expect(bytesOf(await readTensors(out), 'score.weight')).toBe(bytesOf(a.tensors, 'score.weight'));
  });

  it('that the base has not are the first model’s', async () => {
    const [a, b, base] = [reward(1), reward(2), llama({ layers: 2, seed: 3 })];
    const { paths, out } = written({ a, b, base });
    const [first = '', second = '', third = ''] = paths;
    const recipe: RecipeInput = {
      method: 'task_arithmetic',
      models: [first, second],
      base: third,
      weights: [0.5, 0.5],
    };
    const { warnings } = await merge(recipe, { out });
    expect(bytesOf(await readTensors(out), 'score.weight')).toBe(bytesOf(a.tensors, 'score.weight'));
    expect(warnings.join('\n')).toContain('base has no score.weight, of the head of a; that of a is kept');
  });
});
