import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Place } from '../../src/core/models/architecture/architecture.js';
import type { Role } from '../../src/core/models/architecture/role.js';
import {
  type LayoutOptions,
  layOut as layOutOver,
  parseShardSize,
  type UnplacedTensor,
} from '../../src/core/plan/layout.js';
import { storedTensor } from '../../src/core/tensor/stored-tensor.js';
import { planMerge, type RecipeInput, runPlan } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { readTensors } from '../fixtures/merged.js';

const layOut = (tensors: readonly UnplacedTensor[], options: LayoutOptions) =>
  layOutOver(tensors, options, () => undefined);

const source = storedTensor(0, { file: 0, begin: 0, end: 0, dtype: 'BF16' });

const tensor = (name: string, elements: number, place: Partial<Place>): UnplacedTensor => ({
  name,
  dtype: 'BF16',
  shape: [elements],
  bytes: elements * 2,
  place: { layer: undefined, role: 'attention', module: name, ...place },
  expression: { kind: 'copy', source },
});

const outside = (role: Role, elements = 10) => tensor(role, elements, { role });

const model = (layers: number): UnplacedTensor[] => [
  outside('head'),
  outside('finalNorm', 1),
  ...Array.from({ length: layers }, (_, layer) => [
    tensor(`${layer}.q`, 20, { layer }),
    tensor(`${layer}.k`, 10, { layer }),
  ]).flat(),
  outside('embedding', 50),
  outside('tower'),
];

const names = (options: LayoutOptions, layers = 2): string[][] =>
  layOut(model(layers), options).map(({ tensors }) => tensors.map(({ name }) => name));

describe('layout by layer', () => {
  it('gives embeddings, each layer, final norm and head a shard of their own, in the model’s order', () => {
    expect(names({ layout: 'layer', maxShardBytes: 1000 })).toEqual([
      ['embedding'],
      ['0.k', '0.q'],
      ['1.k', '1.q'],
      ['finalNorm'],
      ['head'],
      ['tower'],
    ]);
  });

  it('cuts a layer that is larger than a shard may be', () => {
    expect(names({ layout: 'layer', maxShardBytes: 50 })).toEqual([
      ['embedding'],
      ['0.k'],
      ['0.q'],
      ['1.k'],
      ['1.q'],
      ['finalNorm'],
      ['head'],
      ['tower'],
    ]);
  });
});

describe('layout by size', () => {
  it('fills shards as far as they go, in the model’s order', () => {
    expect(names({ layout: 'size', maxShardBytes: 160 })).toEqual([
      ['embedding', '0.k', '0.q'].sort(),
      ['1.k', '1.q', 'finalNorm', 'head', 'tower'].sort(),
    ]);
  });

  it('gives a tensor that is larger than a shard one of its own', () => {
    expect(names({ layout: 'size', maxShardBytes: 90 })[0]).toEqual(['embedding']);
  });

  it('writes one file where all fits', () => {
    expect(layOut(model(2), { layout: 'size', maxShardBytes: 1e9 }).map(({ file }) => file)).toEqual([
      'model.safetensors',
    ]);
  });
});

describe.each(['layer', 'size'] as const)('layout by %s', (layout) => {
  it('places every tensor once, one behind the other, in files named by number', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 400 }),
        (layers, maxShardBytes) => {
          const shards = layOut(model(layers), { layout, maxShardBytes });
          expect(shards.flatMap(({ tensors }) => tensors.map(({ name }) => name)).sort()).toEqual(
            model(layers)
              .map(({ name }) => name)
              .sort(),
          );
          for (const [index, { file, bytes, tensors }] of shards.entries()) {
            if (shards.length > 1)
              expect(file).toBe(
                `model-${String(index + 1).padStart(5, '0')}-of-${String(shards.length).padStart(5, '0')}.safetensors`,
              );
            const data = tensors.reduce((total, { begin, end }) => total + end - begin, 0);
            expect(tensors.length === 1 || data <= maxShardBytes).toBe(true);
            for (const [at, { begin }] of tensors.entries())
              expect(begin).toBe(at === 0 ? bytes - data : tensors[at - 1]?.end);
          }
        },
      ),
    );
  });
});

describe('a shard size', () => {
  it.each<[string | number, number]>([
    ['5GB', 5e9],
    ['500MB', 5e8],
    ['1.5GB', 1.5e9],
    ['5B', 5e9],
    ['200K', 2e5],
    ['100kb', 1e5],
    ['2 TB', 2e12],
    ['5000000000', 5e9],
    [1234, 1234],
  ])('%s is %d bytes', (text, bytes) => {
    expect(parseShardSize(text)).toBe(bytes);
  });

  it.each(['', '0', '-1GB', '5XB', 'GB', '5GBB', '1e400'])('%j is none', (text) => {
    expect(() => parseShardSize(text)).toThrow(expect.objectContaining({ code: 'INVALID_PARAMETER' }));
  });
});

describe('a file of an input as a shard', () => {
  it('is none where its layers have changed places', async () => {
    const root = temporaryDirectory();
    const made = llama({ layers: 2 });
    const model = writeCheckpoint(join(root, 'model'), made);
    const slice = (from: number) => ({ sources: [{ model, layerRange: [from, from + 1] }] });
    const stacked = async (...from: readonly number[]) => {
      const recipe = { method: 'passthrough', slices: from.map(slice) } as unknown as RecipeInput;
      return planMerge(recipe, { layout: 'size' });
    };
    expect((await stacked(0, 1)).shards[0]?.verbatim).toEqual({ input: 0, file: 0 });
    const plan = await stacked(1, 0);
    expect(plan.shards[0]?.verbatim).toBeUndefined();
    const { out } = await runPlan(plan, { out: join(root, 'out') });
    const found = await readTensors(out);
    for (const [name, { data }] of Object.entries(made.tensors)) {
      const other = name.replace(/layers\.(\d)/, (_, layer) => `layers.${1 - Number(layer)}`);
      expect([name, Buffer.from(found[other]?.data ?? [])]).toEqual([name, Buffer.from(data)]);
    }
  });
});
