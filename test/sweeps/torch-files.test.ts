import { expect, it } from 'vitest';
import { generator } from '../fixtures/numbers.js';
import { mutated, readTorch } from '../fixtures/torch-mutations.js';

// Longer than the sweep of the unit tests; LAYERLOOM_SEED sets another seed.

it('100,000 mutated files of torch.save are refused by an error of ours, or give tensors within the file', async () => {
  const random = generator(Number(process.env['LAYERLOOM_SEED'] ?? 1));
  const outcomes = new Set<string>();
  for (let round = 0; round < 100_000; round += 1) outcomes.add(await readTorch(mutated(random)));
  expect(outcomes).toContain('accepted');
  expect(outcomes).toContain('PICKLE_RUNS_CODE');
}, 1_200_000);
