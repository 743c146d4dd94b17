import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { merge, relayout, soup } from '../../src/index.js';
import { type AdapterFixture, writeAdapter } from '../fixtures/adapters.js';
import {
  type TensorFixture,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';
import {
  type ExpertAdapterOptions,
  expertAdapter,
  experts,
  fusedMixture,
  mixtral,
  mixtureConfig,
  separateMixture,
  transposedMixture,
  withExpertAdapter,
} from '../fixtures/mixtures.js';
import { decode, encode } from '../fixtures/numbers.js';

const make = (tensors: Tensors, config: Record<string, unknown>, ...adapters: readonly AdapterFixture[]) => {
  const root = temporaryDirectory();
  const base = writeCheckpoint(join(root, 'base'), { tensors, config });
  return {
    root,
    base,
    adapters: adapters.map((adapter, index) => writeAdapter(join(root, `lora-${index + 1}`), adapter)),
  };
};

const written = async (tensors: Tensors, config: Record<string, unknown>, adapter: AdapterFixture) => {
  const { root, base, adapters } = make(tensors, config, adapter);
  const { out } = await relayout({ model: `${base}+${adapters[0]}` }, { out: join(root, 'out') });
  return readTensors(out);
};

/** Fuses experts from separate files as transformers does. */
const fuse = (tensors: Tensors, { block = 'mlp', matrices = ['gate_proj', 'up_proj', 'down_proj'] } = {}) => {
  const [gate, up, down] = matrices;
  const each = (layer: number, names: readonly (string | undefined)[]) =>
    Buffer.concat(
      Array.from({ length: experts }, (_, expert) =>
        names.map(
          (name) =>
            tensors[`model.layers.${layer}.${block}.experts.${expert}.${name}.weight`]?.data ??
            Buffer.alloc(0),
        ),
      ).flat(),
    );
  return [0, 1].flatMap((layer) => [
    [`model.layers.${layer}.mlp.experts.gate_up_proj`, each(layer, [gate, up])] as const,
    [`model.layers.${layer}.mlp.experts.down_proj`, each(layer, [down])] as const,
  ]);
};

const bytes = (tensor: TensorFixture | undefined) => Buffer.from(tensor?.data ?? []);

/** The adapter with the ranks of an expert side by side in `lora_B`, and the key that says so. */
const groupedByExpert = (adapter: AdapterFixture, rank: number): AdapterFixture => ({
  tensors: Object.fromEntries(
    Object.entries(adapter.tensors).map(([name, tensor]) => {
      if (!name.includes('lora_B')) return [name, tensor];
      const own = decode('F32', bytes(tensor));
      const ranks = rank * experts;
      const values = own.map((_, at) => {
        const [row, column] = [Math.floor(at / ranks), at % ranks];
        return own[row * ranks + (column % rank) * experts + Math.floor(column / rank)] ?? Number.NaN;
      });
      return [name, { ...tensor, data: encode('F32', values) } as TensorFixture];
    }),
  ),
  config: { ...adapter.config, lora_B_layout: 'grouped_by_expert' },
});

describe('an adapter of the experts of a mixture', () => {
  it.each<[string, ExpertAdapterOptions]>([
    ['since 0.19.1, A along the inputs', {}],
    ['before 0.19, A along the first dimension', { first: true, version: '0.18.1' }],
    ['that says no version, A along the first dimension', { first: true, config: { peft_version: null } }],
    ['before 0.19, of square matrices', { first: true, version: '0.18.1', inner: 8 }],
    ['0.19.0, of square matrices', { first: true, version: '0.19.0', inner: 8 }],
    ['since 0.19.1, of square matrices', { version: '0.19.1', inner: 8 }],
    ['since 0.19.1, of square matrices of gate and up', { version: '0.20.0', inner: 4 }],
  ])('gives the sums of PEFT %s', async (_, options) => {
    const adapter = expertAdapter(options);
    const config = mixtureConfig();
    const found = await written(fusedMixture(options), config, adapter);
    const expected = withExpertAdapter(fusedMixture(options), adapter, options);
    expect(Object.keys(found).sort()).toEqual(Object.keys(expected).sort());
    for (const [name, tensor] of Object.entries(expected))
      expect([name, bytes(found[name])]).toEqual([name, bytes(tensor)]);
  });

  it.each<[string, string, ExpertAdapterOptions]>([
    ['gpt-oss since 0.19.1', 'gpt_oss', { first: true, version: '0.21.2' }],
    ['gpt-oss 0.19.0', 'gpt_oss', { version: '0.19.0' }],
    ['gpt-oss before 0.19', 'gpt_oss', { first: true, version: '0.18.0' }],
    ['Llama 4, which does not say that it is transposed, since 0.19.1', 'llama4_text', { version: '0.21.2' }],
  ])('gives the sums of PEFT over matrices stored as [in, out]: %s', async (_, family, options) => {
    for (const inner of [5, 4, 8]) {
      const all = { ...options, inner, transposed: true, family };
      const adapter = expertAdapter(all);
      const base = transposedMixture(all);
      const found = await written(base, mixtureConfig(all), adapter);
      for (const [name, tensor] of Object.entries(withExpertAdapter(base, adapter, all)))
        expect([name, bytes(found[name])]).toEqual([name, bytes(tensor)]);
    }
  });

  it.each([
    ['Qwen', {}],
    ['Mixtral', mixtral],
  ])('changes the experts of files that have each by itself, as %s names them', async (_, names) => {
    for (const first of [false, true]) {
      const options = { ...names, first, version: first ? '0.18.1' : '0.21.2' };
      const adapter = expertAdapter(options);
      const found = await written(separateMixture(names), mixtureConfig(names), adapter);
      expect(Object.keys(found).sort()).toEqual(Object.keys(separateMixture(names)).sort());
      const expected = withExpertAdapter(fusedMixture(names), adapter, options);
      for (const [name, data] of fuse(found, names as object))
        expect([name, data]).toEqual([name, bytes(expected[name])]);
    }
  });

  it.each<[string, ExpertAdapterOptions]>([
    ['since 0.19.1', { rank: 3 }],
    ['before 0.19', { first: true, version: '0.18.1' }],
  ])('whose ranks are grouped by expert, as Unsloth says, gives the sums of PEFT %s', async (_, options) => {
    const adapter = expertAdapter(options);
    const expected = withExpertAdapter(fusedMixture(), adapter, options);
    const own = groupedByExpert(adapter, options.rank ?? 2);
    const found = await written(fusedMixture(), mixtureConfig(), own);
    for (const [name, tensor] of Object.entries(expected))
      expect([name, bytes(found[name])]).toEqual([name, bytes(tensor)]);
    for (const [name, data] of fuse(await written(separateMixture(), mixtureConfig(), own)))
      expect([name, data]).toEqual([name, bytes(expected[name])]);
    const { root, adapters } = make(fusedMixture(), mixtureConfig(), own, own);
    await expect(soup({ models: adapters }, { out: join(root, 'out') })).rejects.toThrow(
      /Unsloth’s order.*give BASE\+ADAPTER/,
    );
  });

  it('of Unsloth is refused until the order of its ranks is stated', async () => {
    const by = (config: Record<string, unknown>) => {
      const own = { ...config, auto_mapping: { base_model_class: 'Mixture', unsloth_fixed: true } };
      return written(fusedMixture(), mixtureConfig(), expertAdapter({ config: own }));
    };
    await expect(by({})).rejects.toThrow(
      /factors of 3 experts, in an order .*add "lora_B_layout" to adapter_config\.json/,
    );
    const parameters = { down_proj: { lora_B_layout: 'grouped_by_expert' } };
    await expect(
      by({ lora_B_layout: 'rank_major', unsloth_fused_expert_lora: { parameters } }),
    ).rejects.toThrow(/lora_B_layout says rank_major and grouped_by_expert/);
    await expect(by({ lora_B_layout: 'mixed' })).rejects.toThrow(/lora_B_layout/);
    const found = await by({ lora_B_layout: 'rank_major' });
    const expected = withExpertAdapter(fusedMixture(), expertAdapter(), {});
    for (const [name, tensor] of Object.entries(expected))
      expect([name, bytes(found[name])]).toEqual([name, bytes(tensor)]);
  });

  it('finds parameters that target_parameters name without a module, and the router', async () => {
    const options = { config: { target_parameters: ['down_proj', 'gate_up_proj', 'gate.weight'] } };
    const adapter = expertAdapter(options);
    const [a, b] = [
      Float32Array.from({ length: 16 }, (_, index) => index / 8),
      Float32Array.from({ length: 6 }, (_, index) => index - 3),
    ];
    const router = 'base_model.model.model.layers.1.mlp.gate';
    const factors = {
      [`${router}.lora_A.weight`]: { dtype: 'F32', shape: [2, 8], data: Buffer.from(a.buffer) },
      [`${router}.lora_B.weight`]: { dtype: 'F32', shape: [3, 2], data: Buffer.from(b.buffer) },
    };
    const all = {
      tensors: { ...adapter.tensors, ...factors },
      config: { ...adapter.config, alpha_pattern: { '.*\\.down_proj': 5 } },
    };
    const found = await written(separateMixture(mixtral), mixtureConfig(mixtral), all);
    const expected = withExpertAdapter(fusedMixture(mixtral), adapter);
    for (const [name, data] of fuse(found, mixtral as object))
      expect([name, data]).toEqual([name, bytes(expected[name])]);
    const before = decode('F32', bytes(expected['model.layers.1.mlp.gate.weight']));
    const after = decode('F32', bytes(found['model.layers.1.block_sparse_moe.gate.weight']));
    expect(after).toEqual(
      before.map((value, index) => {
        const [row, column] = [Math.floor(index / 8), index % 8];
        const sum = (b[2 * row] ?? 0) * (a[column] ?? 0) + (b[2 * row + 1] ?? 0) * (a[8 + column] ?? 0);
        return Math.fround(value + 1.5 * sum);
      }),
    );
  });

  it.each([
    ['fused', fusedMixture(mixtral)],
    ['each by itself', separateMixture(mixtral)],
  ])('takes experts that are saved whole in the place of those of the base, %s', async (_, base) => {
    const saved = fusedMixture({ ...mixtral, seed: 9 });
    const fused = Object.entries(saved).filter(([name]) => name.includes('.experts.'));
    const adapter = {
      tensors: Object.fromEntries(fused.map(([name, tensor]) => [`base_model.model.${name}`, tensor])),
      config: { peft_type: 'LORA', r: 1, target_modules: ['q_proj'], modules_to_save: ['experts'] },
    };
    const found = await written(base, mixtureConfig(mixtral), adapter);
    const again =
      'model.layers.0.mlp.experts.gate_up_proj' in base ? found : fusedMixture({ ...mixtral, of: found });
    for (const [name, tensor] of Object.entries(fusedMixture(mixtral)))
      expect([name, bytes(again[name])]).toEqual([
        name,
        bytes(name.includes('.experts.') ? saved[name] : tensor),
      ]);
  });

  it('merges with others to an adapter whose change is the average of theirs', async () => {
    const two = [expertAdapter({ seed: 7 }), expertAdapter({ seed: 8, rank: 3 })];
    const { root, base, adapters } = make(separateMixture(), mixtureConfig(), ...two);
    const { out } = await soup({ models: adapters, base }, { out: join(root, 'merged') });
    const whole = await soup(
      { models: adapters.map((one) => `${base}+${one}`) },
      { out: join(root, 'whole') },
    );
    const full = await relayout({ model: `${base}+${out}` }, { out: join(root, 'full') });
    const [found, expected] = [await readTensors(full.out), await readTensors(whole.out)];
    for (const [name, tensor] of Object.entries(expected)) {
      const [one, other] = [decode('F32', bytes(found[name])), decode('F32', bytes(tensor))];
      for (const [index, value] of other.entries()) expect(one[index]).toBeCloseTo(value, 5);
    }
    await expect(
      merge({ method: 'soup', models: adapters, rank: 2 } as never, { out: join(root, 'low') }),
    ).rejects.toThrow(/5 or more where factors of experts are merged/);
  });

  it.each<[string, Tensors, Record<string, unknown>, AdapterFixture, string, RegExp]>([
    [
      'of other experts',
      separateMixture(),
      mixtureConfig(),
      expertAdapter({ config: { r: 1 } }),
      'ADAPTER_MISMATCH',
      /gate_up_proj has 3 experts in the base, and factors for 6 in the adapter/,
    ],
    [
      'of other matrices',
      separateMixture(),
      mixtureConfig(),
      expertAdapter({ inner: 6 }),
      'ADAPTER_MISMATCH',
      /has matrices \[10, 8\] in the base, and the product of .* for each expert is \[12, 8\]/,
    ],
    [
      'of experts that the base has not',
      { 'model.layers.0.mlp.up_proj.weight': { dtype: 'F32', shape: [1, 1], data: Buffer.alloc(4) } },
      mixtureConfig(),
      expertAdapter(),
      'ADAPTER_MISMATCH',
      /experts\.(gate_up|down)_proj is not in the base/,
    ],
    [
      'of square matrices that files may have transposed',
      fusedMixture({ inner: 8 }),
      mixtureConfig({ family: 'qwen3_vl_moe' }),
      expertAdapter({ inner: 8 }),
      'ADAPTER_UNSUPPORTED',
      /square matrices of qwen3_vl_moe/,
    ],
    [
      'that saves fewer experts whole',
      separateMixture(),
      mixtureConfig(),
      {
        tensors: {
          'base_model.model.model.layers.0.mlp.experts.down_proj': {
            dtype: 'F32',
            shape: [2, 8, 5],
            data: Buffer.alloc(320),
          },
        },
        config: { peft_type: 'LORA', r: 1, target_modules: ['q_proj'], modules_to_save: ['experts'] },
      },
      'ADAPTER_MISMATCH',
      /down_proj has other experts in the base than \[2, 8, 5\] in the adapter/,
    ],
    [
      'that saves experts of no extent whole',
      separateMixture(),
      mixtureConfig(),
      {
        tensors: {
          'base_model.model.model.layers.0.mlp.experts.down_proj': {
            dtype: 'F32',
            shape: [2 ** 40, 0, 5],
            data: Buffer.alloc(0),
          },
        },
        config: { peft_type: 'LORA', r: 1, target_modules: ['q_proj'], modules_to_save: ['experts'] },
      },
      'ADAPTER_MISMATCH',
      /has other experts in the base/,
    ],
    [
      'with magnitudes',
      separateMixture(),
      mixtureConfig(),
      expertAdapter({ config: { use_dora: true } }),
      'ADAPTER_INVALID',
      /lora_magnitude_vector/,
    ],
    [
      'that names one parameter more than a module has factors for',
      separateMixture(),
      mixtureConfig(),
      expertAdapter({
        config: { target_parameters: ['experts.gate_up_proj', 'experts.down_proj', 'experts.bias'] },
      }),
      'ADAPTER_UNSUPPORTED',
      /names other parameters of the module .*experts than it has factors for \(2\)/,
    ],
    [
      'whose parameters stand in an unknown order',
      separateMixture(),
      mixtureConfig(),
      expertAdapter({ config: { target_parameters: ['experts.w13', 'experts.w2'] } }),
      'ADAPTER_UNSUPPORTED',
      /the order of w13 is not known/,
    ],
  ])('is refused %s', async (_, tensors, config, adapter, code, message) => {
    await expect(written(tensors, config, adapter)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    });
  });
});
