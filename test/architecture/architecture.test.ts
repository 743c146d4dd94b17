import { describe, expect, it } from 'vitest';
import { describeArchitecture, requireLayers } from '../../src/core/models/architecture/architecture.js';
import { families, familyOfType, typesIn } from '../../src/core/models/architecture/families.js';
import type { Role } from '../../src/core/models/architecture/role.js';
import type { CheckpointIndex } from '../../src/core/models/checkpoint/checkpoint.js';
import { familyFixture, familyFixtures } from '../fixtures/families.js';

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

const describeNames = (names: readonly string[], config?: Record<string, unknown>, stack?: string) =>
  describeArchitecture(checkpoint(names, config), stack);

/** The end of a stack's name that the library and files share: `decoder.layers`, `layers`. */
const ending = (stack: string): string => stack.split('.').slice(-1).join();

/** Roles by module class in transformers and diffusers; the first match counts. */
const byClass: readonly (readonly [RegExp, Role])[] = [
  [/AdaLayerNorm|^SiLU\/|^Sequential\/|AltUp|Laurel/, 'residual'],
  [/(^|\/)(\w*SelfOutput|MPNetAttention|T5Layer\w+|MT5Layer\w+|UMT5Layer\w+)\/\w*LayerNorm$/, 'blockNorm'],
  [/(^|\/)BertOutput\/LayerNorm|(^|\/)\w+Output\/LayerNorm$/, 'blockNorm'],
  [
    /^\w*(Attention|Attn|MambaMixer|Mamba2?Mixer|Mixer|ShortConv|RecurrentBlock|\w*MambaLayer|GatedDeltaNet|MLA)\b/,
    'attention',
  ],
  [
    /^T5LayerFF|^\w*(MLP|Mlp|FeedForward|FFN|Intermediate|Output|MoE|Moe|MoeBlock|SparseMoe\w*|LayerFF)\b/,
    'feedForward',
  ],
  [/^\w*(Norm|NormFP32|LayerNorm\w*)$/, 'blockNorm'],
];

const inAnyLayer = /(^|\.)(layers?|h|\w*blocks?)\.\d+\./;

// Golden: tensors as transformers and diffusers stored them; see `madeBy` in the files.
describe.each(Object.entries(familyFixtures))('%s', (_, { config, stacks, shapes, classes }) => {
  const names = Object.keys(shapes);
  const layered = Object.entries(stacks).filter(([stack]) => !/vision|visual/.test(stack));
  const whole = describeNames(names, config);

  it('is known: no name of it is unexplained', () => {
    expect(whole).toMatchObject({
      family: config['model_type'] ?? config['_class_name'],
      naming: 'huggingface',
      unrecognised: [],
    });
    if (config['tie_word_embeddings'] !== undefined) expect(whole.tied).toBe(config['tie_word_embeddings']);
  });

  it('has the stacks of layers that the library holds', () => {
    expect(whole.stacks.map(ending).sort()).toEqual(layered.map(([stack]) => ending(stack)).sort());
  });

  it.each(layered)('has all layers of %s, once it is chosen', (stack, layers) => {
    const chosen = describeNames(names, config, layered.length > 1 ? stack : undefined);
    expect(chosen).toMatchObject({ layers, unrecognised: [] });
    expect(() => requireLayers(chosen, '/model')).not.toThrow();
  });

  it('gives tensors the roles that their modules have', () => {
    for (const [stack] of layered) {
      const { places } = describeNames(names, config, layered.length > 1 ? stack : undefined);
      for (const [name, { role, layer }] of places) {
        const of = classes[name] ?? '';
        if (role === 'tower' || role === 'buffer') continue;
        const expected = byClass.find(([pattern]) => pattern.test(of))?.[1];
        if (layer !== undefined && of !== '' && of !== 'Linear')
          expect([name, of, role]).toEqual([name, of, expected]);
        if (!inAnyLayer.test(name) && /(^|\/)\w*Embedding$/.test(of))
          expect([name, role]).toEqual([name, 'embedding']);
        if (!inAnyLayer.test(name) && /Head\b|Pooler/.test(of)) expect([name, role]).toEqual([name, 'head']);
      }
    }
  });
});

describe('the table of families', () => {
  const described = Object.values(familyFixtures).map(({ config }) => typesIn(config));

  it.each(families)('has a model for $title', ({ types }) => {
    expect(described.flat().some((type) => types.includes(type))).toBe(true);
  });

  it('names the family of every model, and each once', () => {
    for (const types of described) expect(types.some((type) => familyOfType(type) !== undefined)).toBe(true);
    const all = families.flatMap(({ types }) => types);
    expect(new Set(all).size).toBe(all.length);
    expect(new Set(families.map(({ title }) => title)).size).toBe(families.length);
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

describe('a model of several stacks', () => {
  const names = Object.keys(familyFixture('m2m-100').shapes);
  const config = { model_type: 'm2m_100' };

  it('has no layers until one is chosen, which leaves those of the other outside', () => {
    expect(describeNames(names, config)).toMatchObject({
      layers: 0,
      stacks: ['model.decoder.layers', 'model.encoder.layers'],
    });
    const { layers, stacks, places } = describeNames(names, config, 'decoder');
    expect({ layers, stacks }).toEqual({ layers: 3, stacks: ['model.decoder.layers'] });
    expect(places.get('model.decoder.layers.2.encoder_attn.k_proj.weight')).toEqual({
      layer: 2,
      role: 'attention',
      module: 'encoder_attn.k_proj.weight',
    });
    expect(places.get('model.encoder.layers.2.fc1.weight')).toMatchObject({
      layer: undefined,
      role: 'feedForward',
    });
  });

  it.each([
    ['one that it does not have', names, 'vision', /encoder, decoder|decoder, encoder/],
    ['a part of several names', names, 'layers', /decoder/],
    ['one of a model without layers', ['a.weight'], 'decoder', /no layers/],
  ])('refuses %s', (_, of, stack, expected) => {
    expect(() => describeNames(of, config, stack)).toThrow(expected);
  });
});

describe('T5’s position biases', () => {
  const placesOf = (family: string) => {
    const { shapes, config } = familyFixture(family);
    return describeNames(Object.keys(shapes), config, 'encoder').places;
  };
  const first = 'encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight';

  it('of the first block serve all, and so are outside the layers', () => {
    for (const family of ['t5', 't5-gated', 'mt5'])
      expect(placesOf(family).get(first)).toEqual({ layer: undefined, role: 'embedding', module: first });
  });

  it('of each block, as UMT5 has them, are in their layers', () => {
    expect(placesOf('umt5').get(first)).toMatchObject({ layer: 0, role: 'attention' });
  });
});

describe('a family that no configuration names', () => {
  it.each(['bert-embedding', 'm2m-100', 't5', 'mamba', 'flux', 'lfm2', 'distilbert'])(
    'is read by the names of those that are known: %s',
    (family) => {
      const { shapes, stacks } = familyFixture(family);
      const found = describeNames(Object.keys(shapes));
      expect(found.unrecognised).toEqual([]);
      expect(found.stacks.map(ending).sort()).toEqual(Object.keys(stacks).map(ending).sort());
    },
  );
});

describe('an unknown family', () => {
  it('works by the pattern, and says which tensors it cannot explain', () => {
    const architecture = describeNames(
      [
        'backbone.layers.0.oracle.in_proj.weight',
        'backbone.layers.1.oracle.in_proj.weight',
        'backbone.tokens.weight',
      ],
      { model_type: 'oracular' },
    );
    expect(architecture).toMatchObject({ family: 'oracular', layers: 2, stacks: ['backbone.layers'] });
    expect(architecture.unrecognised).toEqual([
      'backbone.layers.0.oracle.in_proj.weight',
      'backbone.layers.1.oracle.in_proj.weight',
      'backbone.tokens.weight',
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
