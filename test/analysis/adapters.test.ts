import { join } from 'node:path';
import { expect, it } from 'vitest';
import { analyze, openCheckpoint } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llama, type TensorFixture, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { productOf } from '../fixtures/low-rank.js';
import { decode } from '../fixtures/numbers.js';

it('analyses a base with an adapter by what the adapter stores, and reads no more than that', async () => {
  const root = temporaryDirectory();
  const base = writeCheckpoint(join(root, 'base'), llama());
  const fixture = lora({ saved: ['model.norm.weight'] });
  const adapter = writeAdapter(join(root, 'lora'), fixture);
  const { experts, bytesRead } = await analyze(
    { base, experts: [`${base}+${adapter}`] },
    { threads: 1, out: join(root, 'analysis') },
  );
  const [found] = experts;
  const factor = (name: string) => fixture.tensors[`base_model.model.${name}`] as TensorFixture;
  const module = 'model.layers.2.self_attn.q_proj';
  const [a, b] = ['A', 'B'].map((side) => {
    const { data } = factor(`${module}.lora_${side}.weight`);
    return decode('F32', data);
  });
  const delta = productOf(a ?? [], b ?? [], 4).map((x) => Math.abs(2 * x));
  const mean = delta.reduce((sum, x) => sum + x, 0) / delta.length;
  expect(found?.tensors[`${module}.weight`]?.meanMav).toBeCloseTo(mean, 10);
  expect(found?.tensors['model.layers.2.self_attn.o_proj.weight']).toMatchObject({
    meanMav: 0,
    nonFiniteRows: 0,
  });
  expect(found?.tensors['model.norm.weight']?.meanMav).toBeGreaterThan(0);
  // Reads only the base tensors that the adapter replaces.
  const { tensors } = await openCheckpoint(base);
  const norm = tensors.get('model.norm.weight');
  const stored = Object.values(fixture.tensors).reduce((sum, { data }) => sum + data.length, 0);
  expect(bytesRead).toBe(stored + (norm === undefined ? 0 : norm.end - norm.begin));
});

it('takes a bare adapter on the base that it is analysed against', async () => {
  const root = temporaryDirectory();
  const base = writeCheckpoint(join(root, 'base'), llama());
  const adapter = writeAdapter(join(root, 'lora'), lora());
  const [bare, whole] = await Promise.all(
    [adapter, `${base}+${adapter}`].map((expert, index) =>
      analyze({ base, experts: [expert] }, { threads: 1, out: join(root, `analysis-${index}`) }),
    ),
  );
  expect(bare?.experts[0]?.tensors).toEqual(whole?.experts[0]?.tensors);
  expect(bare?.experts[0]?.meanMav).toBeGreaterThan(0);
});
