import { describe, expect, it } from 'vitest';
import { layerDifferences } from '../../src/core/models/architecture/layer-settings/differing.js';
import { type Origin, stackedConfig } from '../../src/core/models/architecture/layer-settings/stacked.js';
import { type Section, Unsaid } from '../../src/core/models/architecture/layer-settings/traits/saying.js';
import { seeded } from '../fixtures/scored.js';

/** A family's layers, as its classes in transformers build them, and a random configuration. */
interface Family {
  /** `model_type` */
  readonly type: string;
  readonly key?: string;
  readonly make: (random: Random, layers: number) => Record<string, unknown>;
  /** The same in both models. */
  readonly both?: (random: Random) => Record<string, unknown>;
  readonly build: (config: Section, layers: number) => readonly unknown[];
  /** Keys with whole numbers that may order layers differently: tries all values if ours finds none. */
  readonly numbers?: readonly string[];
  readonly refuses?: boolean;
}

interface Random {
  (): number;
  whole(from: number, to: number): number;
  one<T>(items: readonly T[]): T;
}

const randomOf = (seed: number): Random => {
  const random = seeded(seed);
  const whole = (from: number, to: number) => from + Math.floor(random() * (to - from + 1));
  return Object.assign(() => random(), {
    whole,
    one: <T>(items: readonly T[]): T => items[whole(0, items.length - 1)] as T,
  });
};

const range = (length: number): number[] => Array.from({ length }, (_, index) => index);
const number = (config: Section, key: string, otherwise = 0): number => Number(config[key] ?? otherwise);
const strings = (config: Section, key: string): readonly string[] | undefined =>
  Array.isArray(config[key]) ? (config[key] as string[]) : undefined;
const indices = (config: Section, key: string): readonly number[] => (config[key] ?? []) as readonly number[];

const [F, S, L] = ['full_attention', 'sliding_attention', 'linear_attention'];

const families: readonly Family[] = [
  {
    type: 'gemma3_text',
    make: (random) => (random() < 0.5 ? {} : { sliding_window_pattern: random.whole(1, 4) }),
    build: (config, n) =>
      strings(config, 'layer_types') ??
      range(n).map((i) => ((i + 1) % number(config, 'sliding_window_pattern', 6) ? S : F)),
  },
  {
    type: 'modernbert',
    refuses: true,
    make: (random) => ({ global_attn_every_n_layers: random.whole(1, 4) }),
    build: (config, n) =>
      range(n).map((i) => [
        i === 0 ? 'no norm' : 'norm',
        strings(config, 'layer_types')?.[i] ?? (i % number(config, 'global_attn_every_n_layers', 3) ? S : F),
      ]),
  },
  {
    type: 'qwen2',
    both: (random) => ({ use_sliding_window: random() < 0.7, sliding_window: random.one([null, 4]) }),
    make: (random, n) => ({ max_window_layers: random.whole(0, n) }),
    build: (config, n) =>
      strings(config, 'layer_types') ??
      range(n).map((i) =>
        config['use_sliding_window'] === true &&
        config['sliding_window'] !== null &&
        i >= number(config, 'max_window_layers', 28)
          ? S
          : F,
      ),
  },
  {
    type: 'qwen3_moe',
    make: (random, n) => ({
      decoder_sparse_step: random.whole(1, 3),
      mlp_only_layers: range(n).filter(() => random() < 0.3),
    }),
    build: (config, n) =>
      range(n).map(
        (i) =>
          !indices(config, 'mlp_only_layers').includes(i) &&
          (i + 1) % number(config, 'decoder_sparse_step', 1) === 0,
      ),
  },
  {
    type: 'deepseek_v3',
    refuses: true,
    numbers: ['first_k_dense_replace'],
    make: (random, n) => ({ first_k_dense_replace: random.whole(0, n) }),
    build: (config, n) => range(n).map((i) => i >= number(config, 'first_k_dense_replace', 3)),
  },
  {
    type: 'jamba',
    refuses: true,
    numbers: ['attn_layer_period', 'attn_layer_offset', 'expert_layer_period', 'expert_layer_offset'],
    make: (random) => {
      const [attention, experts] = [random.whole(1, 4), random.whole(1, 3)];
      return {
        attn_layer_period: attention,
        attn_layer_offset: random.whole(0, attention - 1),
        expert_layer_period: experts,
        expert_layer_offset: random.whole(0, experts - 1),
      };
    },
    build: (config, n) =>
      range(n).map((i) => [
        i % number(config, 'attn_layer_period') === number(config, 'attn_layer_offset'),
        i % number(config, 'expert_layer_period') === number(config, 'expert_layer_offset'),
      ]),
  },
  {
    type: 'bamba',
    make: (random, n) => ({ attn_layer_indices: range(n).filter(() => random() < 0.4) }),
    build: (config, n) => range(n).map((i) => indices(config, 'attn_layer_indices').includes(i)),
  },
  {
    type: 'lfm2',
    make: (random, n) => ({ full_attn_idxs: range(n).filter(() => random() < 0.4) }),
    build: (config, n) =>
      strings(config, 'layer_types') ??
      range(n).map((i) => (((config['full_attn_idxs'] ?? range(n)) as number[]).includes(i) ? F : 'conv')),
  },
  {
    type: 'ernie4_5_moe',
    refuses: true,
    numbers: ['moe_layer_start_index', 'moe_layer_end_index', 'moe_layer_interval'],
    make: (random, n) => ({
      moe_layer_start_index: random.whole(0, n - 1),
      moe_layer_end_index: random.one([-1, n - 1, n - 2]),
      moe_layer_interval: random.whole(1, 2),
    }),
    build: (config, n) => {
      const end = number(config, 'moe_layer_end_index', -1);
      return range(n).map(
        (i) =>
          (i + 1) % number(config, 'moe_layer_interval', 1) === 0 &&
          i >= number(config, 'moe_layer_start_index', 1) &&
          i <= (end === -1 ? n - 1 : end),
      );
    },
  },
  {
    type: 'llama4_text',
    both: (random) => ({ attention_chunk_size: random.one([null, 8]) }),
    make: (random, n) => ({
      no_rope_layer_interval: random.whole(1, 4),
      ...(random() < 0.5
        ? { interleave_moe_layer_step: random.whole(1, 3) }
        : { moe_layers: range(n).filter(() => random() < 0.5) }),
    }),
    build: (config, n) => {
      const given = indices(config, 'no_rope_layers');
      const rope =
        given.length > 0
          ? given
          : range(n).map((i) => Number((i + 1) % number(config, 'no_rope_layer_interval', 4) !== 0));
      const step = number(config, 'interleave_moe_layer_step', 1);
      return range(n).map((i) => [
        rope[i],
        Array.isArray(config['moe_layers'])
          ? indices(config, 'moe_layers').includes(i)
          : i % step === step - 1,
        strings(config, 'layer_types')?.[i] ??
          (rope[i] && config['attention_chunk_size'] !== null ? 'chunked_attention' : F),
      ]);
    },
  },
  {
    type: 'smollm3',
    both: (random) => ({ use_sliding_window: random() < 0.5, sliding_window: random.one([null, 4]) }),
    make: (random) => ({ no_rope_layer_interval: random.whole(1, 4) }),
    build: (config, n) => {
      const rope =
        config['no_rope_layers'] === undefined
          ? range(n).map((i) => Number((i + 1) % number(config, 'no_rope_layer_interval', 4) !== 0))
          : indices(config, 'no_rope_layers');
      const isWindowed = config['use_sliding_window'] === true && config['sliding_window'] !== null;
      return range(n).map((i) => [
        rope[i],
        strings(config, 'layer_types')?.[i] ?? (isWindowed && !rope[i] ? S : F),
      ]);
    },
  },
  {
    type: 'gpt_neo',
    make: (random, n) => ({ attention_types: [[range(n).map(() => random.one(['global', 'local'])), 1]] }),
    build: (config) =>
      (config['attention_types'] as readonly (readonly [string[], number])[]).flatMap(([words, times]) =>
        range(times).flatMap(() => words),
      ),
  },
  {
    type: 'nemotron_h',
    make: (random, n) => {
      const pattern = range(n)
        .map(() => random.one(['M', '*', '-', 'E']))
        .join('');
      return random() < 0.5
        ? { hybrid_override_pattern: pattern }
        : {
            layers_block_type: Array.from(
              pattern,
              (one) => ({ M: 'mamba', '*': 'attention', '-': 'mlp', E: 'moe' })[one],
            ),
          };
    },
    build: (config) => {
      const words: Readonly<Record<string, string>> = {
        M: L,
        E: 'moe',
        '*': F,
        '-': 'mlp',
        mamba: L,
        attention: F,
      };
      return (
        strings(config, 'layers_block_type') ?? Array.from(String(config['hybrid_override_pattern']))
      ).map((one) => words[one] ?? one);
    },
  },
  {
    type: 'recurrent_gemma',
    make: (random) => ({
      block_types: random.one([
        ['recurrent', 'attention'],
        ['recurrent', 'recurrent', 'attention'],
        ['attention'],
      ]),
    }),
    build: (config, n) => {
      const cycle = strings(config, 'block_types') ?? ['recurrent', 'recurrent', 'attention'];
      return range(n).map((i) => cycle[i % cycle.length]);
    },
  },
  {
    type: 'mllama_text_model',
    make: (random, n) =>
      random() < 0.3 ? {} : { cross_attention_layers: range(n).filter(() => random() < 0.4) },
    build: (config, n) =>
      range(n).map((i) =>
        ((config['cross_attention_layers'] ?? [3, 8, 13, 18, 23, 28, 33, 38]) as number[]).includes(i),
      ),
  },
  {
    type: 'gemma3n_text',
    refuses: true,
    make: (_random, n) => ({
      num_kv_shared_layers: 0,
      intermediate_size: range(n).map((i) => 8 * (1 + (i % 2))),
    }),
    build: (config, n) => range(n).map((i) => [i, n, indices(config, 'intermediate_size')[i]]),
  },
  {
    type: 'kimi_linear',
    make: (random, n) => {
      const isFull = range(n).map(() => random() < 0.4);
      const of = (wanted: boolean) =>
        range(n)
          .filter((i) => isFull[i] === wanted)
          .map((i) => i + 1);
      return {
        linear_attn_config: { full_attn_layers: of(true), kda_layers: of(false), head_dim: 8 },
        mlp_layer_types: isFull.map((one) => (one ? 'dense' : 'sparse')),
      };
    },
    build: (config, n) => {
      const { full_attn_layers } = config['linear_attn_config'] as { full_attn_layers: number[] };
      return range(n).map((i) => [
        strings(config, 'layer_types')?.[i] ?? (full_attn_layers.includes(i + 1) ? F : L),
        strings(config, 'mlp_layer_types')?.[i],
      ]);
    },
  },
  {
    type: 'llama',
    make: (random, n) => ({
      per_layer_config: Object.fromEntries(
        range(n)
          .filter(() => random() < 0.5)
          .map((i) => [`0${i}`, { head_dim: random.whole(8, 9) }]),
      ),
    }),
    build: (config, n) => {
      const given = new Map(
        Object.entries((config['per_layer_config'] ?? {}) as Record<string, unknown>).map(([key, value]) => [
          Number(key),
          value,
        ]),
      );
      return range(n).map((i) => given.get(i) ?? null);
    },
  },
];

const model = (config: Section, layers: number) => ({ config, stack: 'model.layers', layers });
const edited = (config: Section, edits: Section): Section =>
  Object.fromEntries(Object.entries({ ...config, ...edits }).filter(([, value]) => value !== undefined));

describe('settings by layer', () => {
  it.each(families)(
    'of $type say of each layer what its own model says of it, or name the key that cannot',
    (family) => {
      const random = randomOf(family.type.length * 1000 + 7);
      let refusals = 0;
      for (let round = 0; round < (family.numbers?.length === 4 ? 50 : 200); round += 1) {
        const both = family.both?.(random) ?? {};
        const sizes = [random.whole(2, 7), random.whole(2, 7)];
        const configs = sizes.map((layers) => ({
          model_type: family.type,
          num_hidden_layers: layers,
          ...both,
          ...family.make(random, layers),
        }));
        const origins: Origin[] = range(random.whole(1, 8)).map(() => {
          const of = random.whole(0, 1);
          return { model: of, layer: random.whole(0, (sizes[of] as number) - 1) };
        });
        const built = configs.map((config, index) => family.build(config, sizes[index] as number));
        const wanted = origins.map((origin) => built[origin.model]?.[origin.layer]);
        try {
          const { edits } = stackedConfig(
            configs.map((config, index) => model(config, sizes[index] as number)),
            origins,
            true,
          );
          const config = edited(configs[0] as Section, edits);
          expect(config['num_hidden_layers']).toBe(origins.length);
          expect([family.type, config, family.build(config, origins.length)]).toEqual([
            family.type,
            config,
            wanted,
          ]);
        } catch (error) {
          if (!(error instanceof Unsaid)) throw error;
          refusals += 1;
          expect(family.refuses).toBe(true);
          expect(error.key).not.toBe('');
          expect(valuesThatSay(family, configs[0] as Section, wanted)).toEqual([]);
        }
      }
      expect(refusals > 0).toBe(family.refuses === true);
    },
  );
});

/** All values of a family's numbers with which the first configuration expresses the wanted layers. */
const valuesThatSay = (
  { numbers = [], build }: Family,
  config: Section,
  wanted: readonly unknown[],
): unknown[] => {
  const found: unknown[] = [];
  const n = wanted.length;
  const text = JSON.stringify(wanted);
  const visit = (given: Section, [key, ...rest]: readonly string[]): void => {
    if (key === undefined) {
      if (JSON.stringify(build(given, n)) === text) found.push(given);
      return;
    }
    for (let value = 0; value <= n + 1; value += 1) visit({ ...given, [key]: value }, rest);
  };
  visit(config, numbers);
  return found;
};

const order = (...layers: number[]): Origin[] => layers.map((layer) => ({ model: 0, layer }));
const edits = (config: Section, layers: number, origins: readonly Origin[], stack = 'model.layers') =>
  stackedConfig([{ config, stack, layers }], origins, true).edits;
const refusal = (call: () => unknown): string => {
  try {
    call();
  } catch (error) {
    if (error instanceof Unsaid) return `${error.key} ${error.reason}`;
    throw error;
  }
  return 'none';
};

describe('stacks in a configuration', () => {
  it('edit the number of layers under each key that says it, and nothing where nothing changes', () => {
    expect(edits({ model_type: 'llama', num_hidden_layers: 3 }, 3, order(0, 1, 2))).toEqual({});
    expect(edits({ model_type: 'gpt2', n_layer: 3, num_hidden_layers: 3 }, 3, order(0, 1))).toEqual({
      n_layer: 2,
      num_hidden_layers: 2,
    });
    expect(
      edits({ model_type: 'longcat_flash', num_layers: 3, num_hidden_layers: 6 }, 3, order(0, 2)),
    ).toEqual({
      num_layers: 2,
      num_hidden_layers: 4,
    });
    expect(edits({ model_type: 'xlstm', num_blocks: 2, num_hidden_layers: 2 }, 2, order(0))).toEqual({
      num_blocks: 1,
      num_hidden_layers: 1,
    });
  });

  it('refuse a number of layers that is not that of the weights', () => {
    expect(refusal(() => edits({ model_type: 'llama', num_hidden_layers: 4 }, 3, order(0)))).toBe(
      'num_hidden_layers is 4, and model.layers has 3 layers',
    );
    expect(refusal(() => edits({ model_type: 'llama' }, 3, order(0)))).toMatch(
      /^num_hidden_layers is not there/,
    );
  });

  it('edit that half of an encoder–decoder which is stacked', () => {
    const bart = { model_type: 'bart', encoder_layers: 3, decoder_layers: 3, num_hidden_layers: 3 };
    expect(edits(bart, 3, order(0, 1), 'model.encoder.layers')).toEqual({
      encoder_layers: 2,
      num_hidden_layers: 2,
    });
    expect(edits(bart, 3, order(0, 1), 'model.decoder.layers')).toEqual({ decoder_layers: 2 });
    const t5 = { model_type: 't5', num_layers: 3 };
    expect(edits(t5, 3, order(0, 2), 'encoder.block')).toEqual({ num_layers: 2, num_decoder_layers: 3 });
    expect(edits(t5, 3, order(0, 2), 'decoder.block')).toEqual({ num_decoder_layers: 2 });
    const gemma = {
      model_type: 't5gemma',
      encoder: { model_type: 't5_gemma_module', num_hidden_layers: 2, layer_types: [S, F] },
      decoder: { model_type: 't5_gemma_module', num_hidden_layers: 2, layer_types: [S, F] },
    };
    expect(edits(gemma, 2, order(0, 0), 'model.decoder.layers')).toEqual({
      decoder: { model_type: 't5_gemma_module', num_hidden_layers: 2, layer_types: [S, S] },
    });
  });

  it('edit a text_config, and a copy of it beside it, but no tower', () => {
    const vision_config = { num_hidden_layers: 2, layer_types: [F, F] };
    const nested = {
      model_type: 'gemma3',
      text_config: { num_hidden_layers: 2, rms_norm_eps: 1e-6 },
      vision_config,
    };
    expect(edits(nested, 2, order(1, 0, 1), 'language_model.model.layers')).toEqual({
      text_config: { num_hidden_layers: 3, rms_norm_eps: 1e-6 },
    });
    const copied = {
      model_type: 'qwen2_vl',
      num_hidden_layers: 2,
      text_config: { num_hidden_layers: 2 },
      vision_config,
    };
    expect(edits(copied, 2, order(1), 'model.layers')).toEqual({
      num_hidden_layers: 1,
      text_config: { num_hidden_layers: 1 },
    });
  });

  it('refuse lists of which it is not known what they say, by each layer or by several entries a layer', () => {
    const config = { model_type: 'llama', num_hidden_layers: 2 };
    const of = (more: Section) => refusal(() => edits({ ...config, ...more }, 2, order(0)));
    expect(of({ scales: [1, 2] })).toMatch(/^scales has 2 entries for 2 layers/);
    expect(of({ scales: [1, 2, 3, 4] })).toMatch(/^scales has 4 entries for 2 layers/);
    expect(of({ inner: { deep: { scales: [1, 2] } } })).toMatch(/^scales/);
    expect(
      of({ scales: [1, 2, 3], eos_token_id: [1, 2], rope_scaling: { short_factor: [1, 2, 3, 4] } }),
    ).toBe('none');
    expect(of({ scales: [] })).toBe('none');
    const within = {
      model_type: 'llava',
      text_config: { model_type: 'llama', num_hidden_layers: 2 },
      gates: [1, 2],
    };
    expect(refusal(() => edits(within, 2, order(0)))).toMatch(/^gates/);
  });

  it('refuse what sounds of layers in a family that is not known, and warn of the family', () => {
    const config = { model_type: 'strange', num_hidden_layers: 2 };
    const of = (more: Section) => refusal(() => edits({ ...config, ...more }, 2, order(0)));
    for (const key of [
      'full_layer_interval',
      'moe_layer_freq',
      'global_every_n',
      'attn_period',
      'dense_block_step',
      'skip_layers',
      'window_pattern',
    ])
      expect([key, of({ [key]: 3 })]).toEqual([
        key,
        expect.stringMatching(`^${key} may say something by layer|none`),
      ]);
    expect(of({ moe_layer_freq: 2 })).toMatch(/^moe_layer_freq/);
    expect(of({ skip_layers: [0] })).toMatch(/^skip_layers/);
    expect(of({ window_pattern: 'LG' })).toMatch(/^window_pattern/);
    expect(of({ moe_layer_freq: null, layer_norm_eps: 1e-5, layerdrop: 0, hidden_size: 8 })).toBe('none');
    const { warnings } = stackedConfig([{ config, stack: 'model.layers', layers: 2 }], order(0), true);
    expect(warnings).toEqual([expect.stringMatching(/does not know how strange tells layers apart/)]);
    const known = stackedConfig(
      [{ config: { ...config, model_type: 'llama' }, stack: 'm', layers: 2 }],
      order(0),
      true,
    );
    expect(known.warnings).toEqual([]);
  });

  it('repeat limits of some layers where a configuration has them', () => {
    const mlps = ['dense', 'sparse', 'sparse'];
    const step = {
      model_type: 'step3p5',
      num_hidden_layers: 3,
      layer_types: [F, S, F],
      mlp_layer_types: mlps,
    };
    expect(edits(step, 3, order(0, 2))).toMatchObject({
      layer_types: [F, F],
      mlp_layer_types: mlps.slice(0, 2),
    });
    const limits = { swiglu_limits: [0, 7, 8], swiglu_limits_shared: [0, 7, 16] };
    expect(edits({ ...step, ...limits }, 3, order(0, 2))).toMatchObject({
      swiglu_limits: [0, 8],
      swiglu_limits_shared: [0, 16],
    });
  });

  it('refuse layers that depend on their number, on each other or on weights outside', () => {
    const of = (model_type: string, more: Section = {}, origins = order(1, 0)) =>
      refusal(() => edits({ model_type, num_hidden_layers: 2, ...more }, 2, origins));
    expect(of('gpt2', { scale_attn_by_inverse_layer_idx: true })).toMatch(/^scale_attn_by_inverse_layer_idx/);
    expect(of('gpt2', { scale_attn_by_inverse_layer_idx: false })).toBe('none');
    expect(of('diffllama')).toMatch(/^model_type/);
    expect(of('zamba2')).toMatch(/^layers_block_type/);
    expect(of('idefics')).toMatch(/^model_type/);
    expect(of('rwkv')).toMatch(/^model_type/);
    expect(of('rwkv', {}, order(0, 1, 1))).toBe('none');
    expect(of('deberta-v2', { conv_kernel_size: 3 }, order(1))).toMatch(/^conv_kernel_size/);
    expect(of('deberta-v2', { conv_kernel_size: 0 }, order(1))).toBe('none');
    expect(of('minicpm3', { scale_depth: 1.4 }, order(0))).toMatch(/^scale_depth/);
    expect(of('minicpm3', { scale_depth: 1.4 }, order(1, 0))).toBe('none');
    expect(of('gpt_neox_japanese', {}, order(0, 0, 1))).toBe('none');
    expect(of('gpt_neox_japanese')).toMatch(/^model_type/);
  });

  it('keep what loaders ask of all layers together', () => {
    const sources = { model_type: 'mistral_large4_text', num_hidden_layers: 3, first_k_dense_replace: 0 };
    expect(edits({ ...sources, kv_source_layers: [0, 1, 2] }, 3, order(1, 2))).toMatchObject({
      kv_source_layers: [0, 1],
    });
    expect(edits(sources, 3, order(1, 2))).not.toHaveProperty('kv_source_layers');
    expect(refusal(() => edits({ ...sources, kv_source_layers: [0, 0, 2] }, 3, order(1, 2)))).toMatch(
      /^kv_source_layers names layers by their numbers/,
    );
    const hybrid = { model_type: 'olmo_hybrid', num_hidden_layers: 3, layer_types: [L, L, F] };
    expect(edits(hybrid, 3, order(0, 2))).toMatchObject({ layer_types: [L, F] });
    expect(refusal(() => edits(hybrid, 3, order(0, 1)))).toMatch(/^layer_types needs a layer/);
    const types = ['sliding_attention', F, F];
    const assistant = { model_type: 'gemma4_unified_text', num_hidden_layers: 3, layer_types: types };
    expect(edits({ ...assistant, num_kv_shared_layers: 3 }, 3, order(1, 2))).toMatchObject({
      num_kv_shared_layers: 2,
    });
  });

  it('refuse to combine layers of which different things are said, and models that compute differently', () => {
    const config = { model_type: 'gemma3_text', num_hidden_layers: 2, layer_types: [S, F] };
    const both = (a: Section, b: Section, origins: readonly Origin[]) =>
      refusal(() =>
        stackedConfig(
          [a, b].map((one) => model(one, 2)),
          origins,
          true,
        ),
      );
    const mixed = (layer: number): Origin[] => [{ model: 0, layer: 0, with: [{ model: 1, layer }] }];
    expect(both(config, config, mixed(0))).toBe('none');
    expect(both(config, config, mixed(1))).toMatch(
      /^layer_types says different things of the layers that layer 0/,
    );
    const alternate = [
      { model: 0, layer: 0 },
      { model: 1, layer: 1 },
    ];
    expect(both(config, { ...config, rms_norm_eps: 1 }, alternate)).toBe('none');
    expect(both({ ...config, rms_norm_eps: 2 }, { ...config, rms_norm_eps: 1 }, alternate)).toMatch(
      /^rms_norm_eps is 2/,
    );
    expect(both({ ...config, sliding_window: 4 }, { ...config, sliding_window: null }, alternate)).toMatch(
      /^sliding_window/,
    );
  });

  it('take layers of multi-token prediction from the configuration where they are left out', () => {
    const config = {
      model_type: 'deepseek_v3',
      num_hidden_layers: 4,
      num_nextn_predict_layers: 1,
      first_k_dense_replace: 1,
    };
    expect(stackedConfig([model(config, 4)], order(0, 1, 1, 2, 3), false).edits).toEqual({
      num_hidden_layers: 5,
      num_nextn_predict_layers: 0,
    });
  });
});

describe('differences by layer', () => {
  const of = (a: Section, b: Section) =>
    layerDifferences({ num_hidden_layers: 2, ...a }, { num_hidden_layers: 2, ...b }, 'model.layers', 2);

  it('are those of what is said, however it is said', () => {
    const type = { model_type: 'gemma3_text' };
    expect(of({ ...type, layer_types: [S, S] }, type)).toEqual([]);
    expect(of({ ...type, layer_types: [S, F] }, type)).toEqual([
      'layer_types "full_attention" against "sliding_attention" of layer 1',
    ]);
    expect(of({ ...type, sliding_window_pattern: 2 }, { ...type, layer_types: [S, F] })).toEqual([]);
    const nemotron = { model_type: 'nemotron_h' };
    expect(
      of(
        { ...nemotron, hybrid_override_pattern: 'M*' },
        { ...nemotron, layers_block_type: ['mamba', 'attention'] },
      ),
    ).toEqual([]);
    expect(
      of(
        { ...nemotron, hybrid_override_pattern: 'M*' },
        { ...nemotron, layers_block_type: ['attention', 'mamba'] },
      ),
    ).toHaveLength(1);
  });
});
