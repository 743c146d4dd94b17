import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openModel } from '../../src/core/models/reading/read-model.js';
import { relayout, soup } from '../../src/index.js';
import { adaptedTensors } from '../fixtures/adapted.js';
import { type AdapterFixture, type LoraOptions, lora } from '../fixtures/adapters.js';
import {
  fill,
  llama,
  llamaShapes,
  safetensors,
  type TensorFixture,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { expectClose } from '../fixtures/close.js';
import { readTensors } from '../fixtures/merged.js';

const options = { layers: 2, tied: false, dtype: 'F32' } as const;
const adapterOf = (more: LoraOptions = {}): AdapterFixture => lora({ shapes: llamaShapes(options), ...more });

/** A model's state dict inside PEFT's: wraps each module with factors, and each one saved whole. */
const stateOf = (base: Tensors, { tensors }: AdapterFixture, adapter = 'default'): Tensors => {
  const prefix = 'base_model.model.';
  const modules = new Set(
    Object.keys(tensors).flatMap(
      (name) => /^base_model\.model\.(.+)\.lora_(embedding_)?A/.exec(name)?.[1] ?? [],
    ),
  );
  const whole = new Set(
    Object.keys(tensors).flatMap((name) => (name.includes('lora_') ? [] : [name.slice(prefix.length)])),
  );
  const own = Object.entries(base).map(([name, tensor]): [string, TensorFixture] => {
    const [module, last] = [name.slice(0, name.lastIndexOf('.')), name.slice(name.lastIndexOf('.') + 1)];
    if (whole.has(name)) return [`${prefix}${module}.original_module.${last}`, tensor];
    return [`${prefix}${module}${modules.has(module) ? '.base_layer' : ''}.${last}`, tensor];
  });
  const added = Object.entries(tensors).map(([name, tensor]): [string, TensorFixture] => {
    if (!name.includes('lora_')) return [name.replace(/\.(\w+)$/, `.modules_to_save.${adapter}.$1`), tensor];
    return [name.replace(/\.(lora_[A-Za-z_]+)(\.weight)?$/, `.$1.${adapter}$2`), tensor];
  });
  return Object.fromEntries([...own, ...added]);
};

const write = (
  tensors: Tensors,
  settings?: Readonly<Record<string, unknown>>,
  config: Record<string, unknown> | undefined = llama(options).config,
) =>
  writeCheckpoint(join(temporaryDirectory(), 'state'), {
    tensors,
    config,
    files: settings === undefined ? {} : { 'adapter_config.json': JSON.stringify(settings) },
  });

const variants: readonly (readonly [string, LoraOptions])[] = [
  ['LoRA', {}],
  ['ranks by module', { ranks: { q_proj: 2 } }],
  ['DoRA', { config: { use_dora: true } }],
  ['embeddings', { targets: ['embed_tokens', 'q_proj'] }],
  ['modules saved whole', { saved: ['lm_head.weight'] }],
];

describe('the state of a PEFT model', () => {
  it.each(variants)('is the model with its change, by the settings beside it: %s', async (_, more) => {
    const base = llama(options).tensors;
    const adapter = adapterOf(more);
    const out = join(temporaryDirectory(), 'out');
    const state = write(stateOf(base, adapter), adapter.config);
    const { warnings } = await relayout({ model: state }, { out });
    expect(warnings.join()).toMatch(/state of a PEFT model.*base_layer \+ s · B · A/);
    expectClose(await readTensors(out), adaptedTensors(base, adapter));
    expect((await openModel(state)).notAsLoaded).toMatch(/PEFT/);
  });

  it('is merged with plain models, and in shards of PyTorch’s names', async () => {
    const base = llama(options).tensors;
    const adapter = adapterOf();
    const out = join(temporaryDirectory(), 'out');
    const root = temporaryDirectory();
    const plain = writeCheckpoint(join(root, 'plain'), {
      tensors: adaptedTensors(base, adapter),
      config: llama(options).config,
    });
    const compiled = Object.fromEntries(
      Object.entries(stateOf(base, adapter, 'math')).map(([name, tensor]) => [`_orig_mod.${name}`, tensor]),
    );
    await soup({ models: [plain, write(compiled, adapter.config)] }, { out });
    expectClose(await readTensors(out), await readTensors(plain));
  });

  it('is refused without its settings, naming what is missing', async () => {
    const state = write(stateOf(llama(options).tensors, adapterOf()));
    const merging = soup({ models: [state, state] }, { out: join(temporaryDirectory(), 'out') });
    await expect(merging).rejects.toMatchObject({
      code: 'ADAPTER_INVALID',
      message: expect.stringMatching(/base_layer.*no adapter_config\.json.*merge_and_unload/),
    });
  });

  it('is refused of several adapters, of other tuners, and of rows that are replaced', async () => {
    const base = llama(options).tensors;
    const adapter = adapterOf();
    const two = { ...stateOf(base, adapter), ...stateOf({}, adapterOf({ seed: 2 }), 'other') };
    await expect(openModel(write(two, adapter.config))).rejects.toMatchObject({
      code: 'ADAPTER_UNSUPPORTED',
      message: expect.stringMatching(/default, other/),
    });
    const tuner = (part: string) => ({
      ...base,
      [`base_model.model.model.layers.0.self_attn.q_proj.${part}.default`]: fill({ it: [16] }, 'F32', 1)[
        'it'
      ] as TensorFixture,
    });
    for (const [part, type] of [
      ['ia3_l', 'IA3'],
      ['hada_w1_a', 'LOHA'],
      ['lokr_w1', 'LOKR'],
      ['oft_R', 'OFT'],
      ['vera_lambda_b', 'VERA'],
    ])
      await expect(openModel(write(tuner(String(part)), { peft_type: type }))).rejects.toMatchObject({
        code: 'ADAPTER_UNSUPPORTED',
        message: expect.stringContaining(String(type)),
      });
    await expect(
      openModel(write(tuner('token_adapter.trainable_tokens_delta'), adapter.config)),
    ).rejects.toMatchObject({
      code: 'ADAPTER_UNSUPPORTED',
    });
    await expect(openModel(write(tuner('lora_A')))).rejects.toMatchObject({ code: 'ADAPTER_INVALID' });
  });

  it('is refused where its settings are of other factors', async () => {
    const state = stateOf(llama(options).tensors, adapterOf({ rank: 4 }));
    await expect(openModel(write(state, adapterOf({ rank: 2 }).config))).rejects.toMatchObject({
      code: 'ADAPTER_INVALID',
    });
  });

  it('is no model where it has factors alone', async () => {
    const { config, tensors } = adapterOf();
    const directory = join(temporaryDirectory(), 'a');
    mkdirSync(directory);
    writeFileSync(join(directory, 'adapter_config.json'), JSON.stringify(config));
    writeFileSync(join(directory, 'model.safetensors'), safetensors(tensors));
    await expect(openModel(directory)).rejects.toMatchObject({
      code: 'NOT_A_CHECKPOINT',
      message: expect.stringMatching(/adapter_model\.safetensors/),
    });
  });

  it('is plain where factors are parameters of the model itself', async () => {
    const own = {
      ...llama(options).tensors,
      'model.layers.0.self_attn.q_proj.lora_A.vision.weight': fill({ it: [2, 16] }, 'F32', 1)[
        'it'
      ] as TensorFixture,
    };
    const { tensors } = await openModel(
      write(own, undefined, { ...llama(options).config, model_type: 'phi4mm' }),
    );
    expect(tensors.size).toBe(Object.keys(own).length);
  });

  it('has tied embeddings as its base, and unties them where one is trained', async () => {
    const tied = { layers: 2, tied: true, dtype: 'F32' } as const;
    const base = llama(tied).tensors;
    const adapter = lora({
      shapes: llamaShapes(tied),
      targets: ['q_proj'],
      saved: ['model.embed_tokens.weight'],
    });
    const opened = await openModel(write(stateOf(base, adapter), adapter.config, llama(tied).config));
    expect(opened.config).toMatchObject({ tie_word_embeddings: false });
    expect(opened.tensors.has('lm_head.weight')).toBe(true);
  });
});
