import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openModel } from '../../src/core/models/reading/read-model.js';
import {
  type AdapterFixture,
  type LoraOptions,
  lora,
  withTensors,
  writeAdapter,
} from '../fixtures/adapters.js';
import {
  type CheckpointFixture,
  fill,
  llama,
  llamaConfig,
  llamaShapes,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';

const open = (base: CheckpointFixture, adapter: AdapterFixture) => {
  const root = temporaryDirectory();
  return openModel(
    `${writeCheckpoint(join(root, 'base'), base)}+${writeAdapter(join(root, 'lora'), adapter)}`,
  );
};

const untied = llama({ tied: false });
const shapes = llamaShapes({ tied: false });
const whole = (options: LoraOptions, ...saved: string[]) =>
  lora({ shapes, targets: ['q_proj'], saved, ...options });

describe('openModel', () => {
  it.each<[string, CheckpointFixture, AdapterFixture, string, RegExp]>([
    [
      'of other names',
      llama(),
      lora({ shapes: { 'model.layers.0.attn.q_proj.weight': [16, 16] } }),
      'ADAPTER_MISMATCH',
      /attn\.q_proj\.weight is not in the base.*org\/base/,
    ],
    [
      'of other shapes',
      llama(),
      lora({ shapes: llamaShapes({ hidden: 32 }) }),
      'ADAPTER_MISMATCH',
      /is \[.*\] in the base, and the product of .*/,
    ],
    [
      'of more layers',
      llama(),
      lora({ shapes: llamaShapes({ layers: 9 }) }),
      'ADAPTER_MISMATCH',
      /layers\.8\..* is not in the base/,
    ],
    [
      'that saves another shape',
      untied,
      withTensors(whole({}, 'model.norm.weight'), {
        'base_model.model.model.norm.weight': fill({ it: [8] }, 'F32', 1)['it'],
      }),
      'ADAPTER_MISMATCH',
      /\[16\] in the base, and \[8\] in the adapter/,
    ],
    [
      'of more rows for one of embeddings and head',
      untied,
      withTensors(whole({}, 'lm_head.weight'), {
        'base_model.model.lm_head.weight': fill({ it: [30, 16] }, 'F32', 1)['it'],
      }),
      'ADAPTER_MISMATCH',
      /would have 24 and 30 rows/,
    ],
    [
      'of embeddings that its family always ties',
      { ...llama(), config: { ...llamaConfig(), model_type: 't5' } },
      lora({ targets: ['embed_tokens'] }),
      'ADAPTER_UNSUPPORTED',
      /tied embeddings; untie the base first/,
    ],
    [
      'of a tied head alone, with ensure_weight_tying',
      llama(),
      lora({ shapes, targets: ['lm_head'], config: { ensure_weight_tying: true } }),
      'ADAPTER_UNSUPPORTED',
      /LoRA on lm_head\.weight/,
    ],
    [
      'of experts in one parameter',
      { tensors: fill({ 'model.layers.0.mlp.weight': [2, 4, 4] }, 'BF16', 1), config: undefined },
      lora({ shapes: { 'model.layers.0.mlp.weight': [4, 4] }, targets: ['mlp'] }),
      'ADAPTER_UNSUPPORTED',
      /3 dimensions/,
    ],
    [
      'over a quantised base',
      { ...llama(), config: { ...llamaConfig(), quantization_config: { bits: 4 } } },
      lora(),
      'QUANTISED_WEIGHTS',
      /dequantise the model first/,
    ],
    [
      'over quantised modules',
      {
        tensors: {
          ...llama().tensors,
          ...fill({ 'model.layers.3.self_attn.q_proj.weight_scale': [1] }, 'F32', 1),
        },
        config: llamaConfig(),
      },
      lora(),
      'QUANTISED_WEIGHTS',
      /layers\.3/,
    ],
  ])('refuses an adapter %s', async (_, base, adapter, code, message) => {
    await expect(open(base, adapter)).rejects.toMatchObject({
      code,
      exitCode: 3,
      message: expect.stringMatching(message),
    });
  });

  it('refuses several adapters, an adapter as a base, and a base as an adapter', async () => {
    const root = temporaryDirectory();
    const base = writeCheckpoint(join(root, 'base'), llama());
    const [one, two] = ['one', 'two'].map((name) => writeAdapter(join(root, name)));
    await expect(openModel(`${base}+${one}+${two}`)).rejects.toThrow(`write ${base}+${one} first`);
    await expect(openModel(`${one}+${two}`)).rejects.toThrow(
      /is an adapter, not a whole model: give BASE\+ADAPTER/,
    );
    await expect(openModel(`${base}+${base}`)).rejects.toThrow(/is no adapter/);
    await expect(openModel(`${base}+./nowhere`)).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
    await expect(openModel(`./nowhere+${one}`)).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
  });

  it('takes a path with a plus that exists for one model', async () => {
    const path = writeCheckpoint(join(temporaryDirectory(), 'a+b'), llama());
    const adapter = writeAdapter(join(path, '..', 'lora+1'));
    expect((await openModel(path)).name).toBe('a+b');
    expect(await openModel(`${path}+${adapter}`)).toMatchObject({
      name: 'lora+1',
      adapted: { base: { path }, adapter: { path: adapter } },
    });
  });

  it('names parameters as the files of the base do', async () => {
    const shape = { 'model.language_model.layers.0.self_attn.q_proj.weight': [8, 8] };
    const adapter = lora({ shapes: { 'model.layers.0.self_attn.q_proj.weight': [8, 8] } });
    const { tensors } = await open({ tensors: fill(shape, 'BF16', 1), config: undefined }, adapter);
    expect([...tensors.values()].map(({ change }) => change?.kind)).toEqual(['lowRank']);
  });

  it('decides by the kind of a module if it is transposed, as PEFT does', async () => {
    const names = { 'h.0.attn.c_attn.weight': [8, 24], 'wte.weight': [16, 8] };
    const adapter = lora({
      shapes: { 'transformer.h.0.attn.c_attn.weight': [8, 24] },
      targets: ['c_attn'],
      config: { fan_in_fan_out: true },
    });
    const without = { ...adapter, config: { ...adapter.config, fan_in_fan_out: false } };
    const { tensors } = await open(
      { tensors: fill(names, 'F32', 1), config: { model_type: 'gpt2' } },
      without,
    );
    expect(tensors.get('h.0.attn.c_attn.weight')?.change).toMatchObject({ transposed: true });
  });

  it('takes resized vocabularies, and says their size in the configuration', async () => {
    const rows = fill({ a: [30, 16], b: [30, 16] }, 'F32', 2);
    const config = { ...llamaConfig({ tied: false }), vocab_size: 24 };
    const adapter = withTensors(whole({}), {
      'base_model.model.lm_head.weight': rows['a'],
      'base_model.model.model.embed_tokens.weight': rows['b'],
    });
    const opened = await open({ ...untied, config }, adapter);
    expect(opened.tensors.get('lm_head.weight')?.shape).toEqual([30, 16]);
    expect(opened.config).toMatchObject({ vocab_size: 30 });
    expect(opened.configEdits).toMatchObject({ vocab_size: 30 });
    expect(opened.adapted?.foreignFiles).toEqual([0, 1]);
  });

  it('unties embeddings that were trained apart from the head', async () => {
    const opened = await open(llama(), lora({ targets: ['q_proj'], saved: ['model.embed_tokens.weight'] }));
    const { file, begin } = opened.tensors.get('lm_head.weight') ?? {};
    expect(opened.config).toMatchObject({ tie_word_embeddings: false });
    expect([file, begin]).toEqual([
      0,
      (await openModel(opened.adapted?.base.path ?? '')).tensors.get('model.embed_tokens.weight')?.begin,
    ]);
    expect(opened.tensors.get('model.embed_tokens.weight')?.file).toBe(1);
  });
});
