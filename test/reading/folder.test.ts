import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openModel } from '../../src/core/models/reading/read-model.js';
import {
  analyze,
  diff,
  exportModel,
  extractLora,
  layerSwap,
  partition,
  planMerge,
  push,
  relayout,
  soup,
} from '../../src/index.js';
import { pathToLoad } from '../../src/study/evaluation/harness/loadable.js';
import { weightsArguments } from '../../src/study/evaluation/harness/loaded-model.js';
import { tryModels } from '../../src/study/evaluation/try-models.js';
import { weightsOfModel } from '../../src/study/store/files/weights.js';
import { adaptedTensors } from '../fixtures/adapted.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import {
  llama,
  llamaShapes,
  safetensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { expectClose } from '../fixtures/close.js';
import { readTensors } from '../fixtures/merged.js';
import { torchBytes } from '../fixtures/torch-files.js';

const options = { layers: 2, tied: false, dtype: 'F32' } as const;
const small = (seed = 1) => llama({ ...options, seed });
const adapter = (config: Record<string, unknown> = {}) => lora({ shapes: llamaShapes(options), config });

const writeBoth = () => {
  const root = temporaryDirectory();
  const base = writeCheckpoint(join(root, 'base'), small(5));
  const alone = writeCheckpoint(join(root, 'alone'), small());
  const both = writeCheckpoint(join(root, 'both'), small());
  const settings = adapter({ base_model_name_or_path: base });
  writeAdapter(both, settings);
  return { root, base, alone, both, settings, other: writeCheckpoint(join(root, 'other'), small(2)) };
};

const out = () => join(temporaryDirectory(), 'out');

describe('a directory with a whole model and an adapter', () => {
  const doors: Readonly<Record<string, (both: string, other: string) => Promise<unknown>>> = {
    soup: (both, other) => soup({ models: [both, other] }, { out: out() }),
    'second of a soup': (both, other) => soup({ models: [other, both] }, { out: out() }),
    swap: (both, other) => layerSwap({ task: other, language: both, bottom: 1, top: 0 }, { out: out() }),
    'base of a plan': (both, other) =>
      planMerge({ method: 'ties', base: both, models: [other], weights: [1] } as never),
    relayout: (both) => relayout({ model: both }, { out: out() }),
    analyze: (both, other) => analyze({ base: other, experts: [both] }, { out: out() }),
    diff: (both, other) => diff(other, both),
    'extract-lora': (both, other) => extractLora({ base: other, expert: both, rank: 2 }, { out: out() }),
    partition: (both) => partition(both, { bottom: 1, top: 1 }),
    export: (both) => exportModel(both, { to: 'gguf', type: 'f16' }),
    push: (both) => push(both, 'org/name', { dryRun: true }),
    try: (both) => tryModels([both], 'a'),
    evaluate: (both) => pathToLoad(both, out()),
    'identity of weights': (both) => weightsOfModel(both),
    'a base of an adapter': (both) => openModel(`${both}+${both}`),
  };

  it.each(Object.entries(doors))('is refused by all doors, with a way to name each: %s', async (_, door) => {
    const { both, other } = writeBoth();
    await expect(door(both, other)).rejects.toMatchObject({
      code: 'MODEL_AMBIGUOUS',
      exitCode: 3,
      details: {
        path: both,
        model: join(both, 'model.safetensors'),
        adapter: join(both, 'adapter_model.safetensors'),
      },
    });
  });

  it('is named in each of its meanings by the ways that the message says', async () => {
    const { base, alone, both, settings } = writeBoth();
    const message = await openModel(both).catch((error: Error) => error.message);
    const entry = join(both, 'model.safetensors');
    for (const way of [
      `give ${entry} for`,
      `${entry}+${both} for`,
      `BASE+${both} for`,
      `or ${join(both, 'adapter_model.safetensors')} for`,
    ])
      expect(message).toContain(way);
    const written = async (model: string) => {
      const to = out();
      await relayout({ model }, { out: to });
      expect(existsSync(join(to, 'config.json'))).toBe(true);
      return await readTensors(to);
    };
    expect(await written(entry)).toEqual(await written(alone));
    expectClose(await written(`${entry}+${both}`), adaptedTensors(small().tensors, settings));
    expectClose(await written(`${base}+${both}`), adaptedTensors(small(5).tensors, settings));
    const of = join(both, 'adapter_model.safetensors');
    const lone = writeAdapter(join(temporaryDirectory(), 'lone'), settings);
    expect((await planMerge({ method: 'soup', models: [of, lone] })).form).toBe('adapter');
  });

  it('is loaded by programs as it is named', async () => {
    const { root, base, both } = writeBoth();
    const views = join(root, 'views');
    const entry = join(both, 'model.safetensors');
    const alone = await pathToLoad(entry, views);
    expect(readFileSync(join(alone, 'model.safetensors'))).toEqual(readFileSync(entry));
    expect(existsSync(join(alone, 'config.json'))).toBe(true);
    expect(existsSync(join(alone, 'adapter_config.json'))).toBe(false);
    expect(await pathToLoad(entry, views)).toBe(alone);
    expect(await weightsArguments(alone, 'hf')).toEqual({ pretrained: alone });
    const whole = await pathToLoad(`${entry}+${both}`, views);
    expect(await weightsArguments(whole, 'hf')).toEqual({ pretrained: alone, peft: both });
    expect(await weightsArguments(await pathToLoad(`${base}+${both}`, views), 'hf')).toEqual({
      pretrained: base,
      peft: both,
    });
    const file = join(both, 'adapter_model.safetensors');
    expect(await weightsArguments(await pathToLoad(file, views), 'hf')).toEqual({
      pretrained: base,
      peft: both,
    });
    expect(await weightsOfModel(entry)).toBe(await weightsOfModel(alone));
  });

  it('may have its weights in shards, or in a file of another name', async () => {
    const { both } = writeBoth();
    const model = small();
    const names = Object.keys(model.tensors);
    rmSync(join(both, 'model.safetensors'));
    writeCheckpoint(both, { ...model, shards: [names.slice(0, 4), names.slice(4)] });
    const index = join(both, 'model.safetensors.index.json');
    await expect(openModel(both)).rejects.toMatchObject({ details: { model: index } });
    expect((await openModel(index)).tensors.size).toBe(names.length);
    const view = await pathToLoad(index, out());
    expect((await openModel(view)).tensors.size).toBe(names.length);
  });

  it('is not told by settings or weights of an adapter alone', async () => {
    const { both, alone } = writeBoth();
    rmSync(join(both, 'adapter_model.safetensors'));
    const entry = join(both, 'model.safetensors');
    await expect(openModel(both)).rejects.toMatchObject({
      code: 'NOT_A_CHECKPOINT',
      message: expect.stringContaining(`give ${entry} for the model alone`),
    });
    expect((await openModel(entry)).tensors.size).toBe((await openModel(alone)).tensors.size);
    writeAdapter(alone, adapter());
    rmSync(join(alone, 'adapter_config.json'));
    expect((await openModel(alone)).config).toMatchObject({ model_type: 'llama' });
  });
});

describe('an adapter', () => {
  it('is read from PyTorch’s file too, as PEFT reads it', async () => {
    const { base, both, settings } = writeBoth();
    const directory = join(temporaryDirectory(), 'lora');
    mkdirSync(directory);
    copyFileSync(join(both, 'adapter_config.json'), join(directory, 'adapter_config.json'));
    writeFileSync(join(directory, 'adapter_model.bin'), torchBytes(settings.tensors));
    const to = out();
    await relayout({ model: `${base}+${directory}` }, { out: to });
    expectClose(await readTensors(to), adaptedTensors(small(5).tensors, settings));
  });

  it('may be one of several in folders, of which the message names one', async () => {
    const root = temporaryDirectory();
    writeAdapter(join(root, 'run', 'math'), adapter());
    writeAdapter(join(root, 'run', 'swh'), adapter());
    await expect(openModel(join(root, 'run'))).rejects.toMatchObject({
      code: 'NOT_A_CHECKPOINT',
      message: expect.stringContaining(`math, swh; name one, as in ${join(root, 'run')}#math`),
    });
  });

  it('is told of what PEFT does not merge either', async () => {
    const { base } = writeBoth();
    const activated = writeAdapter(
      join(temporaryDirectory(), 'a'),
      adapter({ alora_invocation_tokens: [1] }),
    );
    await expect(openModel(`${base}+${activated}`)).rejects.toMatchObject({
      code: 'ADAPTER_UNSUPPORTED',
      message: expect.stringMatching(
        /PEFT does not merge into a base either; load the adapter beside its base/,
      ),
    });
    const { config, tensors } = adapter({ lora_bias: true });
    const bias = 'base_model.model.model.layers.0.self_attn.q_proj.lora_B.bias';
    const shape = { dtype: 'F32', shape: [16], data: Buffer.alloc(64) };
    const biased = writeAdapter(join(temporaryDirectory(), 'b'), {
      config,
      tensors: { ...tensors, [bias]: shape },
    });
    await expect(openModel(`${base}+${biased}`)).rejects.toMatchObject({
      code: 'ADAPTER_UNSUPPORTED',
      message: expect.stringMatching(/has no such bias; PEFT does not merge it either/),
    });
  });

  it('of another task brings its head and its class with it', async () => {
    const { base } = writeBoth();
    const shapes = { ...llamaShapes(options), 'score.weight': [1, 16] };
    const reward = lora({
      shapes,
      saved: ['score.weight'],
      config: { task_type: 'SEQ_CLS', modules_to_save: ['classifier', 'score'] },
    });
    const to = out();
    await relayout(
      { model: `${base}+${writeAdapter(join(temporaryDirectory(), 'rm'), reward)}` },
      { out: to },
    );
    const names = Object.keys(await readTensors(to));
    expect(names).toContain('score.weight');
    expect(names).not.toContain('lm_head.weight');
    expect(JSON.parse(readFileSync(join(to, 'config.json'), 'utf8'))).toMatchObject({
      architectures: ['LlamaForSequenceClassification'],
      id2label: { 0: 'LABEL_0' },
      label2id: { LABEL_0: 0 },
    });
    const value = lora({
      shapes: { ...llamaShapes(options), 'v_head.summary.weight': [1, 16] },
      saved: ['v_head.summary.weight'],
      config: { task_type: 'CAUSAL_LM', modules_to_save: ['v_head'] },
    });
    await expect(
      openModel(`${base}+${writeAdapter(join(temporaryDirectory(), 'v'), value)}`),
    ).rejects.toMatchObject({
      code: 'ADAPTER_UNSUPPORTED',
      message: expect.stringMatching(/value model/),
    });
    const spans = lora({
      shapes: {
        ...Object.fromEntries(
          Object.entries(llamaShapes(options)).map(([name, shape]) => [
            name.replace('model.', 'transformer.'),
            shape,
          ]),
        ),
        'qa_outputs.weight': [2, 16],
      },
      saved: ['qa_outputs.weight'],
      config: { task_type: 'QUESTION_ANS', modules_to_save: ['qa_outputs'] },
    });
    await expect(
      openModel(`${base}+${writeAdapter(join(temporaryDirectory(), 'qa'), spans)}`),
    ).rejects.toMatchObject({
      code: 'ADAPTER_UNSUPPORTED',
      message: expect.stringMatching(/LlamaForQuestionAnswering, whose parameters are named transformer\./),
    });
  });
});

describe('the files of a model', () => {
  const stale = '{"weight_map": {"a": "model-00001-of-00002.safetensors"}}';

  it('are the whole one, beside an index of others', async () => {
    const directory = writeCheckpoint(join(temporaryDirectory(), 'a'), small());
    writeFileSync(join(directory, 'model.safetensors.index.json'), stale);
    const { tensors, warnings } = await openModel(directory);
    expect(tensors.size).toBe(Object.keys(small().tensors).length);
    expect(warnings).toEqual([
      expect.stringMatching(/index\.json names other files.*model\.safetensors is the model/),
    ]);
  });

  it('are refused where the whole one is a shard of the index, with a way to name each', async () => {
    const directory = writeCheckpoint(join(temporaryDirectory(), 'a'), small());
    const index = join(directory, 'model.safetensors.index.json');
    writeFileSync(
      index,
      '{"weight_map": {"model.norm.weight": "model.safetensors", "b": "other.safetensors"}}',
    );
    const whole = join(directory, 'model.safetensors');
    await expect(openModel(directory)).rejects.toMatchObject({
      code: 'NOT_A_CHECKPOINT',
      message: expect.stringContaining(`give ${whole} or ${index}`),
    });
    expect((await openModel(whole)).sideFiles).toContain('config.json');
    await expect(openModel(index)).rejects.toMatchObject({ code: 'FILE_MISSING' });
  });

  it('are the one that transformers_weights names, which outputs do not name', async () => {
    const model = small();
    const directory = writeCheckpoint(join(temporaryDirectory(), 'a'), {
      ...small(2),
      config: { ...model.config, transformers_weights: 'own.safetensors' },
    });
    writeFileSync(join(directory, 'own.safetensors'), safetensors(model.tensors));
    const opened = await openModel(directory);
    expect(opened.files.map(({ path }) => path)).toEqual([join(directory, 'own.safetensors')]);
    const to = out();
    await relayout({ model: directory }, { out: to });
    expect(readFileSync(join(to, 'config.json'), 'utf8')).not.toContain('transformers_weights');
    for (const name of ['../b.safetensors', 'a/b.safetensors', 'b.bin', 7]) {
      writeFileSync(
        join(directory, 'config.json'),
        JSON.stringify({ ...model.config, transformers_weights: name }),
      );
      await expect(openModel(directory), String(name)).rejects.toMatchObject({ code: 'CONFIG_INVALID' });
    }
  });

  it('are told of where none names them', async () => {
    const root = temporaryDirectory();
    const names = Object.keys(small().tensors);
    const directory = writeCheckpoint(join(root, 'a'), { ...small(), shards: [names] });
    const other = writeCheckpoint(join(root, 'b'), small(2));
    for (const file of ['projector.safetensors', 'consolidated.00.safetensors'])
      writeFileSync(join(directory, file), safetensors({}));
    for (let shard = 1; shard <= 12; shard += 1)
      writeFileSync(join(directory, `pytorch_model-000${String(shard).padStart(2, '0')}-of-00012.bin`), '');
    const { warnings } = await soup({ models: [directory, other] }, { out: out() });
    expect(warnings.filter((text) => text.includes('does not get'))).toEqual([
      'files of a that the output does not get: consolidated.00.safetensors, projector.safetensors, pytorch_model-*-of-00012.bin; copy what it needs',
    ]);
    expect((await openModel(directory)).unread).toEqual([
      'consolidated.00.safetensors',
      'projector.safetensors',
    ]);
  });

  it('have the configuration that lies beside a file, unless it is one of several', async () => {
    const root = temporaryDirectory();
    const directory = writeCheckpoint(join(root, 'a'), small());
    renameSync(join(directory, 'model.safetensors'), join(directory, 'weights.safetensors'));
    await expect(openModel(directory)).rejects.toThrow(/give .*weights\.safetensors itself/);
    const to = out();
    const { warnings } = await relayout({ model: join(directory, 'weights.safetensors') }, { out: to });
    expect([warnings, existsSync(join(to, 'config.json'))]).toEqual([[], true]);
    const view = await pathToLoad(join(directory, 'weights.safetensors'), join(root, 'views'));
    expect((await openModel(view)).tensors.size).toBe(Object.keys(small().tensors).length);
    renameSync(join(directory, 'weights.safetensors'), join(directory, 'model-00001-of-00002.safetensors'));
    expect((await openModel(join(directory, 'model-00001-of-00002.safetensors'))).config).toBeUndefined();
  });
});

describe('what transformers would make another model of', () => {
  it('is refused where a program loads it, with the command that writes it plainly', async () => {
    const root = temporaryDirectory();
    const { tensors, config } = small();
    const wrapped = writeCheckpoint(join(root, 'wrapped'), {
      tensors: Object.fromEntries(
        Object.entries(tensors).map(([name, tensor]) => [`_orig_mod.${name}`, tensor]),
      ),
      config,
    });
    const refused = {
      code: 'NOT_AS_LOADED',
      message: expect.stringContaining(`layerloom relayout ${wrapped} -o DIR`),
    };
    await expect(pathToLoad(wrapped, root)).rejects.toMatchObject(refused);
    await expect(tryModels([wrapped], 'a')).rejects.toMatchObject(refused);
    await expect(exportModel(wrapped, { to: 'gguf', type: 'f16' })).rejects.toMatchObject(refused);
    await expect(push(wrapped, 'org/name', { dryRun: true })).rejects.toMatchObject(refused);
  });
});
