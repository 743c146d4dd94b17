import { cpSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { adapterConfigText, parseAdapterConfig } from '../../src/core/models/adapters/peft-config.js';
import { type LoraOptions, lora, withTensors, writeAdapter } from '../fixtures/adapters.js';
import { fill, temporaryDirectory } from '../fixtures/checkpoints.js';
import { openAdapter } from '../fixtures/open-adapter.js';

const q = 'model.layers.0.self_attn.q_proj';
const qA = `base_model.model.${q}.lora_A.weight`;
const qB = `base_model.model.${q}.lora_B.weight`;

const open = (options?: LoraOptions) =>
  openAdapter(writeAdapter(join(temporaryDirectory(), 'lora'), lora(options)));

const openWith = (changes: Parameters<typeof withTensors>[1], options?: LoraOptions) =>
  openAdapter(writeAdapter(join(temporaryDirectory(), 'lora'), withTensors(lora(options), changes)));

const tensor = (...shape: number[]) => fill({ it: shape }, 'F32', 3)['it'];

describe('openAdapter', () => {
  it('sorts tensors by the parameters that they change', async () => {
    const { checkpoint, pairs, replaced, added, config } = await open({
      saved: ['lm_head.weight'],
      shapes: { [`${q}.weight`]: [16, 8], 'lm_head.weight': [24, 16] },
    });
    expect(checkpoint.name).toBe('lora');
    expect(checkpoint.files).toHaveLength(1);
    expect([...pairs.keys()]).toEqual([`${q}.weight`]);
    expect(pairs.get(`${q}.weight`)).toMatchObject({
      ...{ rank: 4, alpha: 8, scale: 2, transposed: false, names: { a: qA, b: qB } },
      ...{ a: { shape: [4, 8] }, b: { shape: [16, 4] } },
    });
    expect([...replaced.keys()]).toEqual(['lm_head.weight']);
    expect([...added.keys()]).toEqual([]);
    expect(config).toMatchObject({ base: 'org/base', rank: 4, alpha: 8 });
  });

  it('takes rank and alpha of a module from the first pattern that matches its end', async () => {
    const { pairs } = await open({
      ranks: { 'self_attn.q_proj': 2, down_proj: 8 },
      config: { alpha_pattern: { '^model.layers.0.self_attn.q_proj': 3, q_proj: 5 } },
    });
    const of = (name: string) => pairs.get(`model.layers.${name}.weight`);
    expect(of('0.self_attn.q_proj')).toMatchObject({ rank: 2, alpha: 3, scale: 1.5 });
    expect(of('1.self_attn.q_proj')).toMatchObject({ rank: 2, alpha: 5, scale: 2.5 });
    expect(of('1.mlp.down_proj')).toMatchObject({ rank: 8, alpha: 8, scale: 1 });
    expect(of('1.mlp.gate_proj')).toMatchObject({ rank: 4, alpha: 8, scale: 2 });
  });

  it('divides by the square root of the rank with rsLoRA', async () => {
    const { pairs } = await open({ rank: 16, alpha: 8, config: { use_rslora: true } });
    expect(pairs.get(`${q}.weight`)?.scale).toBe(2);
  });

  it('reads embeddings and fan_in_fan_out as transposed', async () => {
    const { pairs } = await open({ targets: ['embed_tokens', 'q_proj'] });
    expect(pairs.get('model.embed_tokens.weight')).toMatchObject({
      ...{ transposed: true, a: { shape: [4, 24] }, b: { shape: [16, 4] } },
    });
    expect(pairs.get(`${q}.weight`)?.transposed).toBe(false);
    const fan = await open({ config: { fan_in_fan_out: true } });
    expect(fan.pairs.get(`${q}.weight`)?.transposed).toBe(true);
  });

  it('takes look-ahead in target_modules, which the tensors make needless', async () => {
    const { tensors, config } = lora();
    const given = { ...config, target_modules: '^(?!.*visual).*(q_proj|v_proj)$', exclude_modules: '(?=a)b' };
    const { pairs } = await openAdapter(writeAdapter(temporaryDirectory(), { tensors, config: given }));
    expect(pairs.size).toBe((await open()).pairs.size);
  });

  it('refuses towers beside an adapter, which PEFT would leave out', async () => {
    const path = writeAdapter(temporaryDirectory(), lora());
    cpSync(join(path, 'adapter_model.safetensors'), join(path, 'vit.safetensors'));
    await expect(openAdapter(path)).rejects.toMatchObject({
      code: 'ADAPTER_UNSUPPORTED',
      message: expect.stringContaining('vit.safetensors') as string,
    });
  });

  it('reads the names of older versions, with the name of the adapter in them', async () => {
    const { tensors, config } = lora({
      targets: ['q_proj'],
      saved: ['lm_head.weight'],
      shapes: { [`${q}.weight`]: [8, 8], 'lm_head.weight': [8, 8] },
    });
    const older = Object.fromEntries(
      Object.entries(tensors).map(([name, one]) => [
        name
          .replace('.weight', '.default.weight')
          .replace('lm_head.default', 'lm_head.modules_to_save.default'),
        one,
      ]),
    );
    const { pairs, replaced } = await openAdapter(
      writeAdapter(join(temporaryDirectory(), 'lora'), { config, tensors: older }),
    );
    expect([...pairs.keys(), ...replaced.keys()]).toEqual([`${q}.weight`, 'lm_head.weight']);
  });

  it('reads biases: trained ones, and those of lora_B', async () => {
    const { replaced, added } = await openWith(
      {
        [`base_model.model.${q}.base_layer.bias`]: tensor(16),
        [`base_model.model.${q}.lora_B.bias`]: tensor(16),
      },
      { config: { bias: 'lora_only', lora_bias: true } },
    );
    expect([...replaced.keys()]).toEqual([`${q}.bias`]);
    expect(added.get(`${q}.bias`)).toMatchObject({ scale: 2 });
  });

  it('names the parameter that target_parameters mean', async () => {
    const { pairs } = await openWith(
      {
        'base_model.model.model.layers.0.mlp.router.lora_A.weight': tensor(4, 16),
        'base_model.model.model.layers.0.mlp.router.lora_B.weight': tensor(2, 4),
      },
      { config: { target_parameters: ['router.gate'] } },
    );
    expect(pairs.has('model.layers.0.mlp.router.gate')).toBe(true);
  });

  it.each<[string, object | undefined, Parameters<typeof withTensors>[1]]>([
    ['lacks its partner', undefined, { [qB]: undefined }],
    ['has rank 0', undefined, { [qA]: tensor(0, 16), [qB]: tensor(16, 0) }],
    ['has factors of two ranks', undefined, { [qA]: tensor(3, 16) }],
    ['has another rank than the configuration', undefined, { [qA]: tensor(3, 16), [qB]: tensor(16, 3) }],
    [
      'has a tensor that nothing accounts for',
      undefined,
      { 'base_model.model.model.norm.weight': tensor(16) },
    ],
    [
      'has a bias of lora_B without lora_bias',
      undefined,
      { [`base_model.model.${q}.lora_B.bias`]: tensor(16) },
    ],
    ['has rank 0 in its configuration', { r: 0 }, {}],
    ['has a text for alpha', { lora_alpha: 'x' }, {}],
  ])('refuses an adapter that %s', async (_, config, changes) => {
    const refused = openWith(
      changes,
      config === undefined ? {} : { config: config as Record<string, unknown> },
    );
    await expect(refused).rejects.toMatchObject({ code: 'ADAPTER_INVALID', exitCode: 3 });
  });

  it.each([
    ['use_qalora', { use_qalora: true }],
    ['layer_replication', { layer_replication: [[0, 2]] }],
    ['alora_invocation_tokens', { alora_invocation_tokens: [1, 2] }],
    ['arrow_config', { arrow_config: { top_k: 3 } }],
    ['pissa_niter_16', { init_lora_weights: 'pissa_niter_16' }],
    ['loftq', { init_lora_weights: 'loftq' }],
    ['PROMPT_TUNING', { peft_type: 'PROMPT_TUNING' }],
    ['a_key_of_tomorrow', { a_key_of_tomorrow: 1 }],
    ['q_(proj', { rank_pattern: { 'q_(proj': 4 } }],
  ])('refuses %s by its name', async (name, config) => {
    await expect(open({ config })).rejects.toMatchObject({
      code: 'ADAPTER_UNSUPPORTED',
      message: expect.stringContaining(name),
    });
  });

  it('ignores keys that change nothing, and unknown ones that are not set', async () => {
    await open({
      config: {
        ...{
          init_lora_weights: 'eva',
          eva_config: { rho: 2 },
          qalora_group_size: 16,
          megatron_core: 'megatron.core',
        },
        ...{
          layers_to_transform: [0],
          layers_pattern: 'layers',
          of_tomorrow: null,
          switch_of_tomorrow: false,
        },
      },
    });
  });

  it('refuses a module that is saved whole and has factors, but for what the factors are added to', async () => {
    const config = { modules_to_save: ['q_proj'] };
    await expect(
      openWith({ [`base_model.model.${q}.weight`]: tensor(16, 16) }, { config }),
    ).rejects.toMatchObject({
      code: 'ADAPTER_INVALID',
      message: expect.stringMatching(/q_proj\.weight is saved whole, and its module has factors too/),
    });
    const { replaced } = await openWith(
      { [`base_model.model.${q}.base_layer.weight`]: tensor(16, 16) },
      { config },
    );
    expect([...replaced.keys()]).toEqual([`${q}.weight`]);
  });

  it('refuses target_parameters without a module beside a pattern of modules', async () => {
    const config = { target_modules: '.*q_proj\\Z', target_parameters: ['weight'] };
    await expect(openWith({}, { config })).rejects.toThrow(/target_parameters weight names no module/);
  });

  it('reads factors of several experts, by their number of ranks', async () => {
    const { pairs } = await openWith(
      { [qA]: tensor(8, 16), [qB]: tensor(16, 8) },
      { config: { target_parameters: ['q_proj.weight'] } },
    );
    expect(pairs.get(`${q}.weight`)).toMatchObject({ rank: 4, experts: { count: 2, row: 0 } });
  });

  it('refuses several parameters of a module that has factors of one', async () => {
    const config = { target_parameters: ['q_proj.weight', 'self_attn.q_proj.other'] };
    await expect(openWith({}, { config })).rejects.toMatchObject({ code: 'ADAPTER_UNSUPPORTED' });
  });

  it('says what to do without weights, and with what is no adapter', async () => {
    const directory = writeAdapter(join(temporaryDirectory(), 'lora'));
    rmSync(join(directory, 'adapter_model.safetensors'));
    await expect(openAdapter(directory)).rejects.toMatchObject({ code: 'NOT_A_CHECKPOINT' });
    rmSync(join(directory, 'adapter_config.json'));
    await expect(openAdapter(directory)).rejects.toThrow(/is no adapter/);
  });

  it('reads a configuration that was written here', () => {
    const content = {
      ...{ rank: 3, alpha: 6, targetModules: ['q_proj'], rankPattern: { k_proj: 2 }, rsLora: true },
      modulesToSave: ['lm_head'],
      base: 'org/base',
    };
    const { raw, kind, rankOf, alphaOf, ...config } = parseAdapterConfig(adapterConfigText(content), 'it');
    expect(raw['task_type']).toBe('CAUSAL_LM');
    expect(kind.key).toBeUndefined();
    expect([rankOf('x.k_proj'), rankOf('x.q_proj'), alphaOf('x.k_proj')]).toEqual([2, 3, 6]);
    const { rankPattern, ...same } = content;
    expect(config).toEqual({
      ...{ fanInFanOut: false, bias: 'none', loraBias: false, targetParameters: [] },
      ...{ title: 'LoRA', tuners: [], keepsTie: false },
      expertLayout: 'before 0.19',
      expertPacking: 'rank_major',
      ...same,
    });
  });
});
