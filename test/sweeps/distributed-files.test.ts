import { expect, it } from 'vitest';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { mutatedFiles, openFiles } from '../fixtures/distributed-mutations.js';
import { generator } from '../fixtures/numbers.js';

// LAYERLOOM_SEED sets another seed.

it('100,000 mutated distributed checkpoints are refused by an error of ours, or lie within their files', async () => {
  const random = generator(Number(process.env['LAYERLOOM_SEED'] ?? 1));
  const folder = temporaryDirectory();
  const outcomes = new Set<string>();
  for (let round = 0; round < 100_000; round += 1)
    outcomes.add(await openFiles(mutatedFiles(random), folder));
  expect(outcomes).toContain('accepted');
  expect(outcomes).toContain('PICKLE_RUNS_CODE');
}, 3_600_000);
