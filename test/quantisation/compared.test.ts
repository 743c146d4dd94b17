import { join } from 'node:path';
import { expect, it } from 'vitest';
import { diff, layerSwap, verify } from '../../src/index.js';
import { temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { encode } from '../fixtures/numbers.js';
import { quantisedLlama, type SchemeName } from '../fixtures/quantised.js';

// Comparisons of quantised models: tensors beside weights count, and stored forms are not faults.

const beside = [
  'model.layers.2.self_attn.k_scale',
  'model.layers.2.mlp.down_proj.input_scale',
  'model.layers.3.self_attn.v_proj.v_scale',
];

const withScales = (directory: string, scheme: SchemeName, seed: number, scales: readonly number[]) => {
  const { tensors, config } = quantisedLlama(scheme, { seed });
  const more = beside.map(
    (name, index) =>
      [name, { dtype: 'F32', shape: [1], data: encode('F32', [scales[index] ?? 1]) } as const] as const,
  );
  return writeCheckpoint(directory, { tensors: { ...tensors, ...Object.fromEntries(more) }, config });
};

const schemes = ['FP8 in blocks', 'int4 of compressed-tensors by groups', 'AWQ'] as const;

it.each(schemes)('diff compares scales of activations and of the KV cache, in %s', async (scheme) => {
  const root = temporaryDirectory();
  const [a, b] = [
    withScales(join(root, 'a'), scheme, 1, []),
    withScales(join(root, 'b'), scheme, 1, [1, 2, 3]),
  ];
  const { equal, tensors } = await diff(a, b);
  expect(equal).toBe(false);
  expect(
    tensors
      .filter(({ state }) => state !== 'equal')
      .map(({ name }) => name)
      .sort(),
  ).toEqual(beside.slice(1).sort());
  const plain = writeCheckpoint(join(root, 'c'), quantisedLlama(scheme, { seed: 1 }));
  const { tensors: others } = await diff(a, plain);
  expect(
    others
      .filter(({ state }) => state === 'onlyInA')
      .map(({ name }) => name)
      .sort(),
  ).toEqual(beside.toSorted());
});

it.each([...schemes, 'MXFP4 of experts'] as const)(
  'verify takes a copy of codes for the result of its recipe, in %s',
  async (scheme) => {
    const root = temporaryDirectory();
    const [task, language] = [
      withScales(join(root, 't'), scheme, 1, []),
      withScales(join(root, 'l'), scheme, 2, [2, 2, 2]),
    ];
    const recipe = { method: 'layer_swap', task, language, bottom: 1, top: 2, others: 'task' } as const;
    const { method: _, ...options } = recipe;
    await layerSwap(options, { out: join(root, 'out') });
    expect(await verify(join(root, 'out'), { against: JSON.stringify(recipe) })).toMatchObject({
      verdict: 'intact',
    });
    const other = { ...recipe, bottom: 2 };
    expect(await verify(join(root, 'out'), { against: JSON.stringify(other) })).toMatchObject({
      verdict: 'different',
    });
  },
);
