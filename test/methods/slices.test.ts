import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { merge, openCheckpoint, planMerge, type RecipeInput } from '../../src/index.js';
import {
  llama,
  llamaConfig,
  type TensorFixture,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { writeFamily } from '../fixtures/family.js';
import { average, readTensors } from '../fixtures/merged.js';

const range = (model: string, from: number, end: number, more = {}) => ({
  sources: [{ model, layerRange: [from, end], ...more }],
});

const ofLayer = (all: Readonly<Record<string, TensorFixture>>, layer: number) =>
  Object.fromEntries(
    Object.entries(all).flatMap(([name, { dtype, shape, data }]) => {
      const module = name.split(`model.layers.${layer}.`)[1];
      return module === undefined ? [] : [[module, { dtype, shape, data: Buffer.from(data) }]];
    }),
  );

const writeTwo = () => {
  const root = temporaryDirectory();
  const write = (name: string, layers: number, seed: number) => {
    const { tensors } = llama({ layers, seed });
    const kinds = ['full_attention', 'sliding_attention'];
    const layer_types = Array.from({ length: layers }, (_, layer) => kinds[(layer + seed) % 2]);
    const config = { ...llamaConfig({ layers }), layer_types };
    return { path: writeCheckpoint(join(root, name), { tensors, config }), tensors, layer_types };
  };
  return { root, small: write('small', 4, 1), large: write('large', 6, 2) };
};

describe('slices', () => {
  it('stack layers of any models: repeated, dropped, in another order, each with its bytes', async () => {
    const { root, small, large } = writeTwo();
    const out = join(root, 'out');
    const slices = [
      range(large.path, 4, 6),
      range(small.path, 0, 2),
      range(small.path, 1, 3),
      range(large.path, 0, 1),
    ];
    await merge({ method: 'passthrough', slices } as unknown as RecipeInput, { out });
    const merged = await readTensors(out);
    const from = [
      [large, 4],
      [large, 5],
      [small, 0],
      [small, 1],
      [small, 1],
      [small, 2],
      [large, 0],
    ] as const;
    for (const [layer, [model, own]] of from.entries())
      expect(ofLayer(merged, layer)).toEqual(ofLayer(model.tensors, own));
    expect(Object.keys(merged)).toHaveLength(2 + 7 * 8);
    const of = (model: typeof large, name: string) => Buffer.from(model.tensors[name]?.data ?? []);
    expect(merged['model.embed_tokens.weight']?.data).toEqual(of(large, 'model.embed_tokens.weight'));
    expect(merged['model.norm.weight']?.data).toEqual(of(large, 'model.norm.weight'));
    const config = JSON.parse(readFileSync(join(out, 'config.json'), 'utf8'));
    expect(config).toMatchObject({
      num_hidden_layers: 7,
      layer_types: from.map(([model, own]) => model.layer_types[own]),
    });
    // Programs find each layer in its place: shards follow the layers.
    const { tensors, files } = await openCheckpoint(out);
    const shardOf = (name: string) => files[tensors.get(name)?.file ?? -1]?.path.split('/').at(-1);
    const shards = from.map((_, layer) => shardOf(`model.layers.${layer}.mlp.gate_proj.weight`));
    expect(shards).toEqual([2, 3, 4, 5, 6, 7, 8].map((n) => `model-0000${n}-of-00009.safetensors`));
  });

  it('have gradients of their own, from the first layer of the slice to the last', async () => {
    const { root, a, b, tensors } = writeFamily({ layers: 5 });
    const out = join(root, 'out');
    const slices = [
      {
        sources: [
          { model: a, layerRange: [0, 3], weight: [0.25, 1] },
          { model: b, layerRange: [2, 5], weight: 0.5 },
        ],
      },
      // A slice of one layer uses the end of its gradients.
      {
        sources: [
          { model: a, layerRange: [4, 5], weight: [0.1, 3] },
          { model: b, layerRange: [0, 1], weight: 1 },
        ],
      },
    ];
    await merge({ method: 'linear', slices } as unknown as RecipeInput, { out });
    const merged = await readTensors(out);
    const of = (member: 'a' | 'b', name: string) => tensors[member][name] as TensorFixture;
    const expected = (layer: number, [ofA, ofB]: [number, number], weights: number[]) =>
      Object.fromEntries(
        Object.entries(ofLayer(merged, layer)).map(([module]) => [
          module,
          Buffer.from(
            average(
              'BF16',
              [of('a', `model.layers.${ofA}.${module}`), of('b', `model.layers.${ofB}.${module}`)],
              weights,
            ),
          ),
        ]),
      );
    const got = (layer: number) =>
      Object.fromEntries(Object.entries(ofLayer(merged, layer)).map(([module, { data }]) => [module, data]));
    expect(got(0)).toEqual(expected(0, [0, 2], [0.25, 0.5]));
    expect(got(1)).toEqual(expected(1, [1, 3], [0.625, 0.5]));
    expect(got(2)).toEqual(expected(2, [2, 4], [1, 0.5]));
    expect(got(3)).toEqual(expected(3, [4, 0], [3, 1]));
    // Tensors before the layers use the first slice's beginning, those after them the last slice.
    for (const [name, weights] of [
      ['model.embed_tokens.weight', [0.25, 0.5]],
      ['model.norm.weight', [0.1, 1]],
    ] as const)
      expect(merged[name]?.data).toEqual(
        Buffer.from(average('BF16', [of('a', name), of('b', name)], weights)),
      );
  });

  it('show filters of a model its own names, and common filters those of the output', async () => {
    const { a, b, base } = writeFamily({ layers: 4 });
    const slice = (density: unknown, weight: unknown) => ({
      method: 'ties',
      base,
      density,
      normalize: [{ filter: 'layers.0.', value: false }, { value: true }],
      slices: [
        {
          sources: [
            { model: a, layerRange: [2, 4], weight },
            { model: b, layerRange: [0, 2], weight: 1 },
            { model: base, layerRange: [2, 4] },
          ],
        },
      ],
    });
    const recipe = slice(0.5, [{ filter: 'layers.3.self_attn', value: 7 }, { value: 2 }]);
    const plan = await planMerge(recipe as unknown as RecipeInput);
    const of = (name: string) =>
      plan.shards.flatMap(({ tensors }) => tensors).find((tensor) => tensor.name === name)?.expression;
    const weights = (name: string) => {
      const expression = of(name);
      return expression?.kind === 'consensus'
        ? [expression.divisor, ...expression.terms.map(({ weight }) => weight)]
        : [];
    };
    expect(weights('model.layers.1.self_attn.q_proj.weight')).toEqual(['weights', 7, 1]);
    expect(weights('model.layers.1.mlp.gate_proj.weight')).toEqual(['weights', 2, 1]);
    expect(weights('model.layers.0.self_attn.q_proj.weight')).toEqual(['none', 2, 1]);
  });

  it('change no other list of the configuration, and none where nothing does', async () => {
    const { root, large } = writeTwo();
    const out = join(root, 'out');
    await merge({ method: 'passthrough', slices: [range(large.path, 0, 6)] } as unknown as RecipeInput, {
      out,
    });
    expect(readFileSync(join(out, 'config.json'), 'utf8')).toBe(
      readFileSync(join(large.path, 'config.json'), 'utf8'),
    );
    expect(await readTensors(out)).toEqual(await readTensors(large.path));
  });

  it('refuse layers of models that differ in shape', async () => {
    const { root, small } = writeTwo();
    const wide = writeCheckpoint(join(root, 'wide'), llama({ hidden: 32, layers: 4 }));
    const recipe = { method: 'passthrough', slices: [range(small.path, 0, 2), range(wide, 2, 4)] };
    await expect(planMerge(recipe as unknown as RecipeInput)).rejects.toMatchObject({ exitCode: 3 });
  });
});
