import { readFileSync, writeFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { describeStages } from '../../src/cli/text/studies/batch-text.js';
import { planExperiment } from '../../src/study/experiment/plan-experiment.js';
import { writeExperiment } from '../fixtures/experiment.js';

it('names a few languages of a stage, and counts many', async () => {
  const { file } = writeExperiment(
    '  - {name: default, method: layer_swap, bottom: 2, top: 1}\n  - {name: soup, method: soup}\n',
  );
  const text = readFileSync(file, 'utf8');
  const linesOf = async (languages: number) => {
    const more = Array.from({ length: languages }, (_, index) => `  l${index}: {e${index}: ./swh-1}\n`);
    writeFileSync(file, text.replace(/(?<=languages:\n)(.*\n)/, more.join('')));
    return describeStages((await planExperiment(file, {})).stages).split('\n');
  };
  expect((await linesOf(2)).at(-1)).toMatch(/ l0, l1: soup$/);
  expect((await linesOf(14)).at(-1)).toMatch(/ 14 languages: soup$/);
});
