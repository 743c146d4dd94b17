import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { type ExperimentInput, openCheckpoint, planExperiment, runExperiment } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';

vi.setConfig({ testTimeout: 180_000 });

const experiment = () => {
  const root = temporaryDirectory();
  const write = (name: string, seed: number) => writeCheckpoint(join(root, name), llama({ layers: 4, seed }));
  const [base, math, swh1, swh2] = [write('base', 0), write('math', 1), write('swh-1', 2), write('swh-2', 3)];
  const of = (merges: ExperimentInput['merges']) => ({
    ...{ base, tasks: { math }, languages: { swahili: { 'swh-1': swh1, 'swh-2': swh2 } }, merges },
  });
  return { root, base, of };
};

it('a batch counts the bytes that statistics of whole models are read for, once for all its merges', async () => {
  const { base, of } = experiment();
  const { tensors } = await openCheckpoint(base);
  const model = [...tensors.values()].reduce((total, { begin, end }) => total + (end - begin), 0);
  const swap = { method: 'layer_swap', bottom: 1, top: 1 } as const;
  const plain = await planExperiment(of([{ name: 'plain', ...swap }]), {});
  expect(plain.cost.bytesToMeasure).toBe(0);
  const weighted = { name: 'weighted', ...swap, weights: 'magnitude' } as const;
  const { cost } = await planExperiment(of([weighted, { ...weighted, name: 'more', bottom: 2 }]), {});
  // The base, the task expert and two language experts.
  expect(cost.bytesToMeasure).toBe(4 * model);
});

it('a batch reads what its cost says, statistics of tensors included', async () => {
  const { root, of } = experiment();
  const merges = [
    { name: 'swap', method: 'layer_swap', bottom: 1, top: 1 },
    { name: 'slerp', method: 'slerp', t: 0.5 },
    { name: 'stock', method: 'model_stock' },
  ] as const;
  const { cost, bytesRead } = await runExperiment(of(merges), { out: join(root, 'out') });
  expect(bytesRead).toBe(cost.bytesToRead + cost.bytesToMeasure);
});
