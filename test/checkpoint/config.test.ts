import { describe, expect, it } from 'vitest';
import { configDifferences, editConfig } from '../../src/core/models/checkpoint/config/config.js';
import { tokenDifferences } from '../../src/core/models/tokenizer/files/tokenizer.js';

const text = `{
  "_name_or_path": "/home/somebody/base",
  "model_type": "llama",
  "rms_norm_eps": 1e-05,
  "rope_theta": 500000.0,
  "torch_dtype": "bfloat16",
  "vocab_size": 128256
}
`;

describe('the configuration of the output', () => {
  it('is the text it was, but for the trainer’s path', () => {
    expect(editConfig(text, JSON.parse(text) as Record<string, unknown>, undefined)).toBe(
      text.replace(/ *"_name_or_path".*\n/, ''),
    );
  });

  it('names the dtype it was converted to by both keys, and keeps numbers as they were spelt', () => {
    const edited = editConfig(text, JSON.parse(text) as Record<string, unknown>, 'F32');
    expect(JSON.parse(edited)).toMatchObject({ dtype: 'float32', torch_dtype: 'float32' });
    expect(edited).toContain('"rms_norm_eps": 1e-05');
    expect(edited).toContain('"rope_theta": 500000.0');
  });

  it('does not change where the dtype asked for is the one it has', () => {
    const own = '{"dtype": "bfloat16"}';
    expect(editConfig(own, { dtype: 'bfloat16' }, 'BF16')).toBe(own);
  });

  it('names the dtype of a nested text model too', () => {
    const nested = '{"dtype": "bfloat16", "text_config": {"dtype": "bfloat16"}, "vision_config": {}}';
    expect(JSON.parse(editConfig(nested, JSON.parse(nested) as Record<string, unknown>, 'F16'))).toEqual({
      dtype: 'float16',
      torch_dtype: 'float16',
      text_config: { dtype: 'float16' },
      vision_config: {},
    });
  });

  it('can be edited where Python wrote Infinity', () => {
    const config = '{\n  "_name_or_path": "x",\n  "limit": [0.0, Infinity]\n}';
    expect(editConfig(config, { _name_or_path: 'x' }, undefined).replace(/\s/g, '')).toBe(
      '{"limit":[0.0,Infinity]}',
    );
  });
});

describe('two configurations', () => {
  const base = {
    architectures: ['LlamaForCausalLM'],
    model_type: 'llama',
    hidden_size: 64,
    num_attention_heads: 4,
    rope_theta: 500000,
    max_position_embeddings: 8192,
    eos_token_id: 2,
  };

  it.each<[string, Record<string, unknown>]>([
    ['architecture', { architectures: ['MistralForCausalLM'] }],
    ['size', { hidden_size: 128 }],
    ['heads', { num_attention_heads: 8 }],
    ['RoPE', { rope_theta: 10000 }],
    ['RoPE scaling', { rope_scaling: { rope_type: 'llama3', factor: 8 } }],
  ])('describe other models when they differ in %s', (_, change) => {
    const { errors } = configDifferences(base, { ...base, ...change });
    expect(errors).not.toEqual([]);
  });

  it('may differ in what does not make the weights mean something else, which is said', () => {
    const { errors, warnings } = configDifferences(base, {
      ...base,
      eos_token_id: 3,
      transformers_version: '5',
      torch_dtype: 'float32',
      use_cache: false,
    });
    expect(errors).toEqual([]);
    expect(warnings).toEqual(['eos_token_id 2 against 3']);
  });

  it('agree on RoPE however their version of transformers spells it', () => {
    const { rope_theta, ...rest } = base;
    const five = { ...rest, rope_parameters: { rope_theta, rope_type: 'llama3', factor: 8 } };
    const four = { ...base, rope_scaling: { type: 'llama3', factor: 8 } };
    expect(configDifferences(five, four).errors).toEqual([]);
    expect(
      configDifferences({ ...rest, rope_parameters: { rope_theta, rope_type: 'default' } }, base).errors,
    ).toEqual([]);
    expect(configDifferences(five, base).errors).not.toEqual([]);
  });

  it('have the RoPE of rope_scaling, which loaders prefer to rope_parameters', () => {
    const yarn = { rope_scaling: { rope_type: 'yarn', factor: 4 } };
    const flat = { rope_parameters: { rope_type: 'default', rope_theta: 1e4 } };
    const kinds = { rope_parameters: { full_attention: { rope_type: 'default', rope_theta: 1e4 } } };
    for (const five of [flat, kinds]) {
      const differences = [expect.stringContaining('RoPE rope_type "default" against "yarn"')];
      expect(configDifferences(five, { ...five, ...yarn }).errors).toEqual(differences);
      expect(configDifferences(five, { ...five, rope_scaling: {} }).errors).toEqual([]);
    }
    // Older configurations leave `rope_theta` out.
    expect(configDifferences(flat, yarn).errors).toHaveLength(1);
  });

  // Each pair is one model, saved by transformers 4 and by 5.
  it.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    [
      'Gemma 3',
      { rope_theta: 1e6, rope_local_base_freq: 1e4, rope_scaling: null },
      {
        rope_parameters: {
          full_attention: { rope_theta: 1e6, rope_type: 'default' },
          sliding_attention: { rope_theta: 1e4, rope_type: 'default' },
        },
      },
    ],
    [
      'Phi 3',
      {
        rope_theta: 1e4,
        original_max_position_embeddings: 4096,
        rope_scaling: { type: 'su', long_factor: [1, 2] },
      },
      {
        rope_parameters: {
          rope_theta: 1e4,
          rope_type: 'longrope',
          long_factor: [1, 2],
          original_max_position_embeddings: 4096,
        },
      },
    ],
    [
      'linear scaling',
      { rope_theta: 1e4, rope_scaling: { type: 'linear', factor: 2 } },
      { rope_parameters: { type: 'linear', rope_type: 'linear', factor: 2, rope_theta: 1e4 } },
    ],
    [
      'GPT-NeoX',
      { rotary_pct: 0.25, rope_theta: 1e4 },
      { rope_parameters: { partial_rotary_factor: 0.25, rope_theta: 1e4, rope_type: 'default' } },
    ],
  ])('agree on RoPE of %s', (_, four, five) => {
    expect(configDifferences(four, five).errors).toEqual([]);
    expect(configDifferences(five, four).errors).toEqual([]);
    expect(configDifferences(five, { ...four, rope_theta: 5e6 }).errors).toEqual([
      expect.stringContaining('RoPE rope_theta'),
    ]);
  });

  it.each(['hidden_act', 'rms_norm_eps', 'sliding_window', 'max_position_embeddings', 'num_logits_to_keep'])(
    'may differ in %s, which versions of transformers and of the hub changed, and are told of',
    (key) => {
      const { errors, warnings } = configDifferences({ ...base, [key]: 1 }, { ...base, [key]: 2 });
      expect([errors, warnings]).toEqual([[], [`${key} 1 against 2`]]);
    },
  );

  it('are compared inside a nested text model', () => {
    expect(
      configDifferences({ text_config: { hidden_size: 1 } }, { text_config: { hidden_size: 2 } }).errors,
    ).toHaveLength(1);
  });
});

describe('two tokenizers', () => {
  it('differ where a token has another id or is missing', () => {
    const a = new Map([
      ['x', 0],
      ['y', 1],
    ]);
    expect(tokenDifferences(a, new Map(a))).toEqual([]);
    expect(
      tokenDifferences(
        a,
        new Map([
          ['x', 1],
          ['z', 2],
        ]),
      ),
    ).toEqual(['"x" 0 against 1', '"y" 1 against absent', '"z" absent against 2']);
  });
});
