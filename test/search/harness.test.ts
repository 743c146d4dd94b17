import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it, vi } from 'vitest';
import { searchExperiment } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { stubHarness } from '../fixtures/evaluation-errors.js';
import { writeExperiment } from '../fixtures/experiment.js';

const stopping = () => {
  const controller = new AbortController();
  return { signal: controller.signal, abort: () => controller.abort() };
};

afterEach(() => {
  vi.unstubAllEnvs();
});

it('searches with the harness, and again from the files of results alone', { timeout: 180_000 }, async () => {
  const log = join(temporaryDirectory(), 'log');
  vi.stubEnv('STUB_LOG', log);
  const { file, out } = writeExperiment(
    '\n  - {name: default, method: layer_swap, bottom: 2, top: 1}\n  - {name: grid, method: layer_swap, bottom: [1, 2], top: [0, 1]}\n',
    { layers: 4 },
  );
  const evaluate = { tasks: { swahili: ['mgsm_direct_sw', 'belebele_swh_Latn'] }, fewshot: 8 };
  const search = { problems: 20, hold_out: 5, budget: '100%' };
  writeFileSync(
    file,
    `${readFileSync(file, 'utf8')}\nevaluate: ${JSON.stringify(evaluate)}\nsearch: ${JSON.stringify(search)}\n`,
  );
  const options = { out, lmEval: stubHarness, pairs: ['math-1+swh-1'] };
  const { signal, abort } = stopping();
  const stopped = searchExperiment(file, { ...options, signal, onScored: abort });
  // The same command would be refused: it needs `resume`.
  const words = `finished scores are in ${out}, and are not made again; answers of models that were being scored are kept, and \`resume\` continues`;
  await expect(stopped).rejects.toThrow(words);
  const first = await searchExperiment(file, { ...options, resume: true });
  expect(first).toMatchObject({ configurations: 4, task: 'mgsm_direct_sw', failed: [], warnings: [] });
  expect(first.steps[0]?.candidates.every(({ problems }) => problems > 0)).toBe(true);
  // Only the task that the search uses was run, not the language's other one.
  expect(existsSync(join(out, 'experiment.json'))).toBe(true);
  expect(readFileSync(join(out, 'experiment.json'), 'utf8')).not.toContain('"belebele_swh_Latn": {');
  const runs = readFileSync(log, 'utf8');
  expect(await searchExperiment(file, { ...options, resume: true })).toEqual(first);
  expect(readFileSync(log, 'utf8')).toBe(runs);
});
