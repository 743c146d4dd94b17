import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { evaluateExperiment, planExperiment, runExperiment, scoreTables } from '../../src/index.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';

vi.setConfig({ testTimeout: 180_000 });

it('of a study counts what is left, divides its seconds, and says that a batch was interrupted', async () => {
  const { file, out } = writeExperiment('  - {name: default, method: layer_swap, bottom: 2, top: 1}', {
    layers: 4,
  });
  const evaluate = { tasks: { swahili: ['mgsm_direct_sw'] }, limit: 4 };
  writeFileSync(file, `${readFileSync(file, 'utf8')}\nevaluate: ${JSON.stringify(evaluate)}\n`);
  const left = async () => (await planExperiment(file, { out, resume: true })).cost.bytesToWrite;
  const all = await left();
  expect(all).toBeGreaterThan(0);
  const { merges, seconds } = (await runExperiment(file, { out })).experiment;
  expect(await left()).toBe(0);
  expect(merges.every((merge) => merge.seconds > 0 && merge.seconds < seconds)).toBe(true);
  expect(merges.reduce((sum, merge) => sum + merge.seconds, 0)).toBeCloseTo(seconds, 6);
  const { scored } = await evaluateExperiment(out, { lmEval: stubHarness });
  expect(scored.length).toBeGreaterThan(0);
  const said = async () => (await scoreTables(out)).warnings.join('\n');
  expect(await said()).not.toMatch(/interrupted|is running/);
  const path = join(out, 'experiment.json');
  const record = JSON.parse(readFileSync(path, 'utf8'));
  record.state = 'running';
  record.merges[0].state = 'pending';
  writeFileSync(path, JSON.stringify(record));
  expect(await said()).toContain(`the batch of ${out} was interrupted: 3 of 4 merges exist`);
});
