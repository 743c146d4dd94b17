import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { runExperiment } from '../../src/index.js';
import { writeExperiment } from '../fixtures/experiment.js';

it('a batch removes the record that a killed one was writing, and no other file', async () => {
  const { file, out } = writeExperiment();
  await runExperiment(file, { out });
  const before = readdirSync(out);
  const others = ['experiment.json.bak', 'experiment.json.8ed822f0'];
  for (const name of [...others, 'experiment.json.8ed822f0-1f61-4ab4-a618-80b8f7ad7b46'])
    writeFileSync(join(out, name), '{');
  await runExperiment(file, { out, resume: true });
  expect(readdirSync(out).sort()).toEqual([...before, ...others].sort());
}, 120_000);
