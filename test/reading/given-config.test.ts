import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import {
  analyze,
  diff,
  merge,
  planExperiment,
  planMerge,
  relayout,
  runExperiment,
  soup,
  verify,
} from '../../src/index.js';
import { fill, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { weightsIn } from '../fixtures/contents.js';
import { dense } from '../fixtures/dense.js';
import { writeDistributed } from '../fixtures/distributed-files.js';

const written = () => {
  const root = temporaryDirectory();
  const model = (seed: number) => dense({ seed });
  const base = writeCheckpoint(join(root, 'base'), model(1));
  writeFileSync(join(base, 'tokenizer_config.json'), '{"of": "base"}');
  writeFileSync(join(base, 'README.md'), '# The base');
  const [a = '', b = ''] = [2, 3].map((seed) =>
    writeDistributed(join(root, `run-${seed}`), { tensors: model(seed).tensors }),
  );
  const [wholeA = '', wholeB = ''] = [2, 3].map((seed) =>
    writeCheckpoint(join(root, `whole-${seed}`), model(seed)),
  );
  return { root, base, a, b, wholeA, wholeB, config: model(1).config };
};

const configWith = (root: string, config: object): string => {
  const file = join(root, 'other.json');
  writeFileSync(file, JSON.stringify(config));
  return file;
};

it('gives models without config.json that of a directory, and its tokenizer', async () => {
  const { root, base, a, b, wholeA, wholeB } = written();
  const [out, same] = [join(root, 'out'), join(root, 'same')];
  await soup({ models: [a, b] }, { out, config: base, checksums: true });
  await soup({ models: [wholeA, wholeB] }, { out: same });
  expect(weightsIn(out).equals(weightsIn(same))).toBe(true);
  for (const name of ['config.json', 'tokenizer_config.json'])
    expect(readFileSync(join(out, name), 'utf8')).toBe(readFileSync(join(base, name), 'utf8'));
  const card = readFileSync(join(out, 'README.md'), 'utf8');
  expect(card).toContain('config: ./base');
  const again = join(root, 'again');
  await merge(join(out, 'README.md'), { out: again });
  expect(weightsIn(again).equals(weightsIn(out))).toBe(true);
  expect((await verify(out, { againstInputs: true })).intact).toBe(true);
  writeFileSync(join(base, 'config.json'), JSON.stringify({ model_type: 'llama' }));
  await expect(merge(join(out, 'layerloom.json'), { out: join(root, 'third') })).rejects.toMatchObject({
    code: 'INPUT_NOT_AS_RECORDED',
  });
});

it('takes it from a recipe, relative to its file, and for nested recipes', async () => {
  const { root, a, b } = written();
  const file = join(root, 'recipe.yaml');
  writeFileSync(
    file,
    'method: soup\nmodels: [{method: soup, models: [./run-2, ./run-3]}, ./run-3]\nconfig: ./base\n',
  );
  const { files, warnings } = await planMerge(file);
  expect(files.map(({ name }) => name)).toContain('config.json');
  expect(warnings).toEqual([]);
  expect((await planMerge({ method: 'soup', models: [a, b] })).warnings.join()).toContain('name its base by');
});

it('takes a file alone, without what is beside it', async () => {
  const { root, base, a, b } = written();
  const out = join(root, 'out');
  await soup({ models: [a, b] }, { out, config: join(base, 'config.json') });
  expect(readdirSync(out)).toContain('config.json');
  expect(readdirSync(out)).not.toContain('tokenizer_config.json');
});

it('keeps a tokenizer beside the weights, to which training may have added tokens', async () => {
  const { root, base, a } = written();
  writeFileSync(join(a, 'tokenizer_config.json'), '{"of": "a"}');
  const out = join(root, 'out');
  await relayout({ model: a }, { out, config: base });
  expect(readFileSync(join(out, 'tokenizer_config.json'), 'utf8')).toBe('{"of": "a"}');
  expect(readFileSync(join(out, 'config.json'), 'utf8')).toBe(
    readFileSync(join(base, 'config.json'), 'utf8'),
  );
  expect(readdirSync(out)).not.toContain('README.md');
});

it('says that it is not read if each model has one', async () => {
  const { base, wholeA, wholeB } = written();
  const { warnings } = await planMerge({ method: 'soup', models: [wholeA, wholeB] }, { config: base });
  expect(warnings).toEqual([`\`config\` ${base} is not read, because each model has a config.json`]);
});

it('is read by analyze and diff', async () => {
  const { root, base, a, wholeA } = written();
  const { equal, sideFiles } = await diff(a, wholeA, { config: base });
  expect(equal).toBe(true);
  expect(sideFiles.find(({ name }) => name === 'config.json')?.state).toBe('equal');
  const { experts } = await analyze({ base, experts: [a], config: base }, { out: join(root, 'analysis') });
  expect(experts).toHaveLength(1);
});

it.each([
  ['num_hidden_layers', 3, /says 3 layers, and .*run-2 has 2/],
  ['hidden_size', 48, /says hidden_size 48, and .* has model\.layers\.0\.\w+norm\.weight \[/],
  ['vocab_size', 999, /says vocab_size 999, and .* has model\.embed_tokens\.weight \[/],
  ['intermediate_size', 999, /says intermediate_size 999, and .* has model\.layers\.0\.mlp\.\w+\.weight \[/],
  ['head_dim', 2, /says num_attention_heads 4, and .* has .*o_proj\.weight \[/],
  ['vision_config', {}, /says that it has towers .*, and .* has none/],
  ['num_key_value_heads', 64, /says num_key_value_heads 64, and .* has .*k_proj\.weight \[/],
])('is refused if its %s is not the tensors’', async (key, value, message) => {
  const { root, a, b, config } = written();
  const other = configWith(root, { ...config, [key]: value });
  await expect(planMerge({ method: 'soup', models: [a, b] }, { config: other })).rejects.toThrow(message);
});

it.each([
  ['gemma3_text', { num_key_value_heads: 2 }, [512, 16], [16, 1024]],
  ['deepseek_v3', { kv_lora_rank: 16, v_head_dim: 4, head_dim: 2 }, [8, 16], [16, 16]],
])('is not refused by heads for %s', async (family, more, k, o) => {
  const { root } = written();
  const shapes = {
    'model.layers.0.self_attn.k_proj.weight': k,
    'model.layers.0.self_attn.o_proj.weight': o,
  };
  const model = writeDistributed(join(root, family), { tensors: fill(shapes, 'BF16', 1) });
  const given = { model_type: family, hidden_size: 16, num_attention_heads: 4, ...more };
  const config = configWith(root, given);
  await expect(relayout({ model }, { out: join(root, 'out'), config })).resolves.toBeDefined();
});

it.each([
  ['qwen2', /says model_type qwen2, whose layers have self_attn\.q_proj\.bias, and .*plain has none/],
  ['qwen3', /whose layers have self_attn\.q_norm\.weight, and .*plain has none/],
  ['gemma2', /whose layers have pre_feedforward_layernorm\.weight, and .*plain has none/],
])('is refused if it is of %s, and the weights are of Llama', async (family, message) => {
  const { root, config } = written();
  const model = writeDistributed(join(root, 'plain'), { tensors: dense().tensors });
  const other = configWith(root, { ...config, model_type: family });
  await expect(relayout({ model }, { out: join(root, 'out'), config: other })).rejects.toThrow(message);
});

it('is refused if it is of Llama, and the weights are not, unless it says so', async () => {
  const { root, config = {} } = written();
  const ofFamily = (family: 'qwen2' | 'qwen3') =>
    [2, 3].map((run) =>
      writeDistributed(join(root, `${family}-${run}`), { tensors: dense({ family, seed: run }).tensors }),
    );
  const [models, normed] = [ofFamily('qwen2'), ofFamily('qwen3')];
  const planned = (more: object, of = models) =>
    planMerge({ method: 'soup', models: of }, { config: configWith(root, { ...config, ...more }) });
  await expect(planned({}, normed)).rejects.toThrow(
    /layers have no self_attn\.q_norm\.weight, and .* has it/,
  );
  await expect(planned({})).rejects.toThrow(/whose layers have no self_attn\.q_proj\.bias, and .* has it/);
  await expect(planned({ model_type: 'qwen2' })).resolves.toBeDefined();
  await expect(planned({ attention_bias: true })).resolves.toBeDefined();
});

it.each([
  [
    'llama',
    { attention_bias: true },
    [],
    /says attention_bias true, whose layers have self_attn\.q_proj\.bias, and .* has none/,
  ],
  [
    'llama',
    { attention_bias: false },
    ['q', 'k', 'v', 'o'],
    /says attention_bias false, whose layers have no self_attn\.q_proj\.bias, and .* has it/,
  ],
  ['llama', {}, ['o'], /says model_type llama, whose layers have no self_attn\.o_proj\.bias, and .* has it/],
  ['llama', { attention_bias: true }, ['q', 'k', 'v', 'o'], undefined],
  ['mistral', { attention_bias: true }, [], undefined],
  ['qwen2', { attention_bias: false }, ['q', 'k', 'v'], undefined],
  ['qwen2_moe', { qkv_bias: false }, [], undefined],
  ['qwen2_moe', {}, [], /says model_type qwen2_moe, whose layers have self_attn\.q_proj\.bias/],
] as const)(
  'of %s with %j fits weights with biases %j, or is refused',
  async (family, more, biased, message) => {
    const { root, config } = written();
    const { tensors } = dense();
    const biases = [0, 1].flatMap((layer) =>
      biased.map((one) => {
        const name = `model.layers.${layer}.self_attn.${one}_proj`;
        return [`${name}.bias`, tensors[`${name}.weight`]?.shape.slice(0, 1) ?? []] as const;
      }),
    );
    const all = { ...tensors, ...fill(Object.fromEntries(biases), 'BF16', 1) };
    const model = writeDistributed(join(root, 'run'), { tensors: all });
    const given = configWith(root, { ...config, model_type: family, ...more });
    const done = relayout({ model }, { out: join(root, 'out'), config: given });
    await (message === undefined
      ? expect(done).resolves.toBeDefined()
      : expect(done).rejects.toThrow(message));
  },
);

it('is judged by the layers of the language model, not by those of a tower', async () => {
  const { root, config } = written();
  const text = Object.entries(dense({ seed: 2 }).tensors);
  const tower = [0, 1].map((layer) => `audio_tower.layers.${layer}.self_attn.q_proj.`);
  const shapes = tower.flatMap((stem) => [
    [`${stem}bias`, [16]] as const,
    [`${stem}weight`, [16, 16]] as const,
  ]);
  const model = writeDistributed(join(root, 'heard'), {
    tensors: {
      ...fill(Object.fromEntries(shapes), 'BF16', 1),
      ...Object.fromEntries(text.map(([name, tensor]) => [`language_model.${name}`, tensor])),
    },
  });
  const planned = (more: object) => {
    const whole = { model_type: 'voxtral', audio_config: {}, text_config: { ...config, ...more } };
    return relayout({ model }, { out: join(root, 'out'), config: configWith(root, whole) });
  };
  await expect(planned({})).resolves.toBeDefined();
  await expect(planned({ model_type: 'qwen2' })).rejects.toThrow(/self_attn\.q_proj\.bias, and .* has none/);
  await expect(planned({ model_type: 'qwen2_vl_text' })).rejects.toThrow(
    /says model_type qwen2_vl_text, whose layers have self_attn\.q_proj\.bias, and .* has none/,
  );
  await expect(planned({ model_type: 'qwen3_vl_text', head_dim: 4 })).rejects.toThrow(
    /self_attn\.q_norm\.weight/,
  );
});

it('is doubted beside weights with other tensors in their layers', async () => {
  const { root, base, a, b } = written();
  const recipe = { method: 'soup', models: [a, b] } as const;
  const { tensors, config = {} } = dense({ seed: 1 });
  const biased = fill({ 'model.layers.0.self_attn.q_proj.bias': [16] }, 'BF16', 1);
  const other = writeCheckpoint(join(root, 'biased'), { tensors: { ...tensors, ...biased }, config });
  const warningsOf = async (from: string) => (await planMerge(recipe, { config: from })).warnings.join('\n');
  expect(await warningsOf(other)).toMatch(/lack self_attn\.q_proj\.bias, unlike the weights beside .*biased/);
  expect(await warningsOf(base)).not.toContain('unlike');
});

it('is refused if it is no config.json', async () => {
  const { root, a, b, base } = written();
  const recipe = { method: 'soup', models: [a, b] } as const;
  mkdirSync(join(root, 'empty'));
  for (const [config, message] of [
    [join(base, 'tokenizer_config.json'), /names no model_type/],
    [join(root, 'empty'), /config\.json: is not there; give a directory that has it/],
    [join(base, 'README.md'), /is no config\.json/],
    [join(root, 'nowhere'), /no such model/],
  ] as const)
    await expect(planMerge(recipe, { config })).rejects.toThrow(message);
});

it('is observed with the weights, for methods that measure them', async () => {
  const { root, base, a, b } = written();
  const config = join(root, 'other');
  mkdirSync(config);
  writeFileSync(join(config, 'config.json'), readFileSync(join(base, 'config.json')));
  const recipe = { method: 'soup', models: [a, b], base, weights: 'magnitude', config } as const;
  const { inputs } = await planMerge(recipe);
  expect(inputs.map(({ role }) => role)).toContain('config');
});

it('is taken by an experiment, relative to its file, and recorded in each merge', async () => {
  const { root } = written();
  const file = join(root, 'experiment.yaml');
  const text = (one: string, other: string) => `
base: ./base
tasks: {math: ./run-2}
languages: {swahili: {swh: ./run-3}}
merges:
  - {name: soup, method: soup${one}}
  - {name: swap, method: layer_swap, bottom: 1, top: 1${other}}
`;
  const given = ', config: ./base/config.json';
  writeFileSync(file, text(given, given));
  const out = join(root, 'out');
  await runExperiment(file, { out });
  const merged = join(out, 'swahili', 'math+swh', 'swap');
  const { inputs } = JSON.parse(readFileSync(join(merged, 'layerloom.json'), 'utf8')) as {
    readonly inputs: readonly { readonly role: string }[];
  };
  expect(inputs.map(({ role }) => role)).toContain('config');
  writeFileSync(file, text(given, ''));
  await expect(planExperiment(file, {})).rejects.toThrow(/one value, the same in all merges/);
});

it('counts as read if the tensors contradict its tying', async () => {
  const { root, a, b, config } = written();
  const tied = configWith(root, { ...config, tie_word_embeddings: true });
  const { warnings } = await planMerge({ method: 'soup', models: [a, b] }, { config: tied });
  expect(warnings.join()).toContain('is a head of its own');
  expect(warnings.join()).not.toMatch(/is not read|does not get/);
});
