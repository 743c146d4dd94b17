import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { merge, type PartParameters, planMerge, type RecipeInput, relayout } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import {
  llama,
  llamaShapes,
  type Tensors,
  temporaryDirectory,
  writeCheckpoint,
} from '../fixtures/checkpoints.js';
import { hashOf } from '../fixtures/contents.js';
import { readTensors } from '../fixtures/merged.js';
import { fusedMixture, mixtureConfig, separateMixture } from '../fixtures/mixtures.js';
import { quantisedLlama } from '../fixtures/quantised.js';

// Parts of models that are not plain floating tensors: copied tensors stay as stored.

const recipe = (more: object) => ({ method: 'layer_swap', ...more }) as unknown as RecipeInput;
const bytes = (tensors: Tensors, name: string) => Buffer.from(tensors[name]?.data ?? []).toString('hex');

describe('parts of adapters', () => {
  const layers = 4;
  const make = () => {
    const root = temporaryDirectory();
    const shapes = llamaShapes({ layers });
    const base = writeCheckpoint(join(root, 'base'), llama({ layers, seed: 5 }));
    const [first, second] = [2, 3].map((seed) =>
      writeAdapter(join(root, `lora-${seed}`), lora({ shapes, seed, rank: seed })),
    );
    return { root, base, first: first ?? '', second: second ?? '' };
  };

  it('put together are those of the models with the adapters applied', async () => {
    const { root, base, first, second } = make();
    const parts = (one: string, two: string) => [
      { model: one, layers: '0,2' },
      { model: two, layers: 3 },
      { model: base, layers: 'rest' },
    ];
    const full = async (adapter: string, name: string) =>
      (await relayout({ model: `${base}+${adapter}` }, { out: join(root, name) })).out;
    const [one, two] = [await full(first, 'one'), await full(second, 'two')];
    const applied = await merge(recipe({ parts: parts(`${base}+${first}`, `${base}+${second}`) }), {
      out: join(root, 'applied'),
    });
    const whole = await merge(recipe({ parts: parts(one, two) }), { out: join(root, 'whole') });
    expect(hashOf(applied.out)).toBe(hashOf(whole.out));
    const merged = await readTensors(applied.out);
    const own = await readTensors(base);
    const name = 'model.layers.1.self_attn.q_proj.weight';
    expect(bytes(merged, name)).toBe(bytes(own, name));
  });

  it('that stay adapters have factors of their parts alone, and of the base none', async () => {
    const { root, base, first, second } = make();
    const parts: PartParameters[] = [
      { model: first, layers: '0,2' },
      { model: second, layers: 3, modules: 'attention' },
      { model: 'base', layers: 'rest' },
    ];
    const { out } = await merge(recipe({ base, parts }), { out: join(root, 'adapter') });
    const factors = (of: string) => readTensors(join(of, 'adapter_model.safetensors'));
    const [merged, one, two] = [await factors(out), await factors(first), await factors(second)];
    const layersOf = Object.keys(merged).map((name) => /layers\.(\d+)\.(\w+)/.exec(name)?.slice(1).join(' '));
    expect([...new Set(layersOf)].sort()).toEqual([
      '0 mlp',
      '0 self_attn',
      '2 mlp',
      '2 self_attn',
      '3 self_attn',
    ]);
    for (const name of Object.keys(merged))
      expect([name, bytes(merged, name)]).toEqual([
        name,
        bytes(name.includes('layers.3.') ? two : one, name),
      ]);
    const whole = await merge(recipe({ base, parts, as: 'full' }), { out: join(root, 'full') });
    const applied = await relayout({ model: `${base}+${out}` }, { out: join(root, 'applied') });
    expect(hashOf(applied.out)).toBe(hashOf(whole.out));
  });
});

describe('parts of quantised models', () => {
  it.each(['FP8 in blocks', 'FP8 by channels'] as const)(
    'by copies stay quantised, scales with their matrices: %s',
    async (scheme) => {
      const root = temporaryDirectory();
      const write = (name: string, seed: number) =>
        writeCheckpoint(join(root, name), quantisedLlama(scheme, { seed }));
      const [task, language] = [write('task', 1), write('language', 2)];
      const parts = [
        { model: language, layers: '1-2', modules: 'feed_forward' },
        { model: task, layers: 'rest' },
      ];
      const { out } = await merge(recipe({ parts }), { out: join(root, 'out') });
      const [merged, one, two] = await Promise.all([out, task, language].map(readTensors));
      expect(Object.keys(merged ?? {}).sort()).toEqual(Object.keys(one ?? {}).sort());
      for (const name of Object.keys(merged ?? {}))
        expect([name, bytes(merged ?? {}, name)]).toEqual([
          name,
          bytes((/layers\.[12]\.mlp/.test(name) ? two : one) ?? {}, name),
        ]);
      const config = (of: string) => JSON.parse(readFileSync(join(of, 'config.json'), 'utf8'));
      expect(config(out).quantization_config).toEqual(config(task).quantization_config);
    },
  );
});

describe('parts of mixtures', () => {
  it('take the experts and routers of a layer with its feed-forward, fused or each by itself', async () => {
    const root = temporaryDirectory();
    const of = (form: 'fused' | 'separate', seed: number) => {
      const make = form === 'fused' ? fusedMixture : separateMixture;
      return writeCheckpoint(join(root, `${form}-${seed}`), {
        tensors: make({ seed }),
        config: mixtureConfig(),
      });
    };
    for (const form of ['fused', 'separate'] as const) {
      const [task, language] = [of(form, 1), of(form, 2)];
      const parts = [
        { model: language, layers: 1, modules: 'feed_forward' },
        { model: task, layers: 'rest' },
      ];
      const { out } = await merge(recipe({ parts }), { out: join(root, `out-${form}`) });
      const [merged, one, two] = await Promise.all([out, task, language].map(readTensors));
      expect(Object.keys(merged ?? {}).sort()).toEqual(Object.keys(one ?? {}).sort());
      for (const name of Object.keys(merged ?? {}))
        expect([name, bytes(merged ?? {}, name)]).toEqual([
          name,
          bytes((/layers\.1\.mlp/.test(name) ? two : one) ?? {}, name),
        ]);
    }
  });

  it('of models that differ in their layers are refused', async () => {
    const root = temporaryDirectory();
    const [short, long] = [3, 4].map((layers) => writeCheckpoint(join(root, `${layers}`), llama({ layers })));
    const parts = [
      { model: short, layers: 0 },
      { model: long, layers: 'rest' },
    ];
    await expect(planMerge(recipe({ parts }))).rejects.toMatchObject({ code: 'LAYER_COUNT_MISMATCH' });
  });
});
