import { describe, expect, it } from 'vitest';
import type { CheckpointIndex } from '../../src/checkpoint/checkpoint.js';
import { describeArchitecture, requireLayers } from '../../src/model/architecture/architecture.js';
import families from '../fixtures/families.json' with { type: 'json' };

const checkpoint = (names: readonly string[], config?: Record<string, unknown>): CheckpointIndex => ({
  name: 'model',
  path: '/model',
  files: [],
  metadata: [],
  tensors: new Map(names.map((name) => [name, { file: 0, begin: 0, end: 0, dtype: 'BF16', shape: [] }])),
  config,
  sideFiles: [],
  warnings: [],
});

const describeNames = (names: readonly string[], config?: Record<string, unknown>) =>
  describeArchitecture(checkpoint(names, config));

// Golden: names that transformers gave its own models; see `madeBy` in the file.
describe.each(Object.entries(families.families))('%s', (_, { model_type, tie_word_embeddings, tensors }) => {
  const names = Object.keys(tensors);
  const architecture = describeNames(names, { model_type, tie_word_embeddings });

  it('is known, with its two layers', () => {
    expect(architecture).toMatchObject({
      family: model_type,
      naming: 'huggingface',
      layers: 2,
      unrecognised: [],
      tied: tie_word_embeddings,
    });
    expect(() => requireLayers(architecture, '/model')).not.toThrow();
  });

  it('has embeddings, a final norm, attention, feed-forward and block norms where names say so', () => {
    const roles = [...architecture.places.values()];
    const inLayer = (layer: number) =>
      new Set(roles.filter((place) => place.layer === layer).map(({ role }) => role));
    expect(inLayer(0)).toEqual(new Set(['attention', 'feedForward', 'blockNorm']));
    expect(inLayer(1)).toEqual(inLayer(0));
    expect(roles.filter(({ role }) => role === 'embedding')).toHaveLength(1);
    expect(roles.some(({ role, layer }) => role === 'finalNorm' && layer === undefined)).toBe(true);
  });

  it('counts the norms of q and k as attention', () => {
    for (const [name, { role }] of architecture.places)
      if (/[qk]_norm/.test(name)) expect(role).toBe('attention');
  });

  it('tells tied from untied without a configuration too', () => {
    expect(describeNames(names).tied).toBe(!names.some((name) => /lm_head|embed_out/.test(name)));
  });
});

describe('Meta’s names', () => {
  const names = ['tok_embeddings.weight', 'norm.weight', 'output.weight', 'rope.freqs'].concat(
    [0, 1, 2].flatMap((layer) =>
      [
        'attention.wq',
        'attention.wo',
        'feed_forward.w1',
        'feed_forward.w2',
        'attention_norm',
        'ffn_norm',
      ].map((module) => `layers.${layer}.${module}.weight`),
    ),
  );

  it('are known, and told from Hugging Face’s', () => {
    const architecture = describeNames(names);
    expect(architecture).toMatchObject({ naming: 'meta', layers: 3, unrecognised: [], tied: false });
    expect(architecture.places.get('layers.1.attention_norm.weight')).toEqual({
      layer: 1,
      role: 'blockNorm',
      module: 'attention_norm.weight',
    });
  });
});

describe('a draft head behind the last layer', () => {
  it('is no layer', () => {
    const names = [0, 1, 2].map((layer) => `model.layers.${layer}.self_attn.q_proj.weight`);
    const architecture = describeNames(names, {
      model_type: 'deepseek_v3',
      num_hidden_layers: 2,
      num_nextn_predict_layers: 1,
    });
    expect(architecture).toMatchObject({ layers: 2, unrecognised: [] });
    expect(architecture.places.get(names[2] ?? '')).toMatchObject({ layer: undefined, role: 'tower' });
  });
});

describe('InternLM’s names', () => {
  it('are not taken for Meta’s', () => {
    expect(
      describeNames(['model.tok_embeddings.weight', 'model.layers.0.attention.wqkv.weight', 'output.weight']),
    ).toMatchObject({ naming: 'huggingface', unrecognised: [] });
  });
});

describe('an unknown family', () => {
  it('works by the pattern, and says which tensors it cannot explain', () => {
    const architecture = describeNames(
      [
        'backbone.layers.0.mixer.in_proj.weight',
        'backbone.layers.1.mixer.in_proj.weight',
        'backbone.embeddings.weight',
      ],
      { model_type: 'mamba' },
    );
    expect(architecture).toMatchObject({ family: 'mamba', layers: 2, stacks: ['backbone.layers'] });
    expect(architecture.unrecognised).toEqual([
      'backbone.layers.0.mixer.in_proj.weight',
      'backbone.layers.1.mixer.in_proj.weight',
      'backbone.embeddings.weight',
    ]);
  });

  it.each<[string, string[], string]>([
    ['no layer numbers', ['a.weight'], 'NO_LAYERS'],
    ['two stacks', ['encoder.layers.0.a.weight', 'decoder.layers.0.a.weight'], 'STACKS_AMBIGUOUS'],
    ['a layer missing', ['model.layers.0.a.weight', 'model.layers.2.a.weight'], 'LAYER_MISSING'],
    [
      'a layer number beyond reason',
      ['model.layers.0.a.weight', 'model.layers.123456789012.a.weight'],
      'LAYER_MISSING',
    ],
  ])('with %s has no layers to swap', (_, names, code) => {
    expect(() => requireLayers(describeNames(names), '/model')).toThrow(expect.objectContaining({ code }));
  });

  it('keeps an expert’s own weights inside its layer', () => {
    const { places } = describeNames(['model.layers.3.block_sparse_moe.experts.1.w1.weight']);
    expect(places.get('model.layers.3.block_sparse_moe.experts.1.w1.weight')).toMatchObject({
      layer: 3,
      role: 'feedForward',
    });
  });
});
