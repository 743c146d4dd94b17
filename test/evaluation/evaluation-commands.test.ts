import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { evaluateExperiment, evaluationCommands, runExperiment } from '../../src/index.js';
import { cli } from '../fixtures/cli.js';
import { stubHarness as lmEval } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';

const made = async (more = '') => {
  const { file, out } = writeExperiment('  - {name: default, method: layer_swap, bottom: 2, top: 1}', {
    layers: 4,
  });
  const text = `evaluate: {tasks: {swahili: mgsm_direct_sw}${more}}`;
  writeFileSync(file, `${readFileSync(file, 'utf8')}\n${text}\n`);
  await runExperiment(file, { out });
  return out;
};

const namesOf = async (...given: Parameters<typeof evaluationCommands>) =>
  (await evaluationCommands(...given)).map(({ model }) => model);

describe('the commands of an evaluation', () => {
  it('are those of the part, and of what has no results', async () => {
    const out = await made();
    const all = await namesOf(out, { lmEval });
    expect(all).toHaveLength(5 + 4);
    const parts = [0, 1].map((index) => namesOf(out, { lmEval, part: { index, count: 2 } }));
    expect((await Promise.all(parts)).flat().sort()).toEqual([...all].sort());
    await evaluateExperiment(out, { lmEval, only: ['base'] });
    expect(await namesOf(out, { lmEval })).toEqual(all.filter((name) => name !== 'base'));
    expect(await namesOf(out, { lmEval, force: true })).toEqual(all);
    const print = ['evaluate', out, '--lm-eval', lmEval, '--only', 'base', '--print'];
    expect((await cli(print)).stdout).toBe('');
    expect((await cli([...print, '--force'])).stdout).toContain('run --config');
  });
});

it.each([
  ['--print', '--dry-run'],
  ['--print', '--import results'],
  ['--dry-run', '--import results'],
])('%s and %s do not stand together', async (first, second) => {
  expect(await cli(['evaluate', 'study', first, ...second.split(' ')])).toMatchObject({
    code: 2,
    stderr: `error: ${first} and ${second.split(' ')[0]} stand for different work; give one of them\n`,
  });
});

it('a pattern that no model has is refused', async () => {
  const out = await made();
  const expected = /only: expected names of models; \* stands for any text, as in base or swahili/;
  await expect(evaluateExperiment(out, { lmEval, only: ['telugu/*'] })).rejects.toThrow(expected);
  await expect(evaluationCommands(out, { lmEval, only: ['telugu/*'] })).rejects.toThrow(expected);
});
