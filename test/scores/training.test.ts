import { cpSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { formatTables, runExperiment, scoreTables, trainInit, writeReport } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';

type Manifest = { runs: Record<string, unknown>[] };

const written = async () => {
  const root = temporaryDirectory();
  const at = (...names: string[]) => join(root, ...names);
  for (const [seed, name] of ['base', 'swh-9'].entries())
    writeCheckpoint(at(name), llama({ layers: 4, seed }));
  writeFileSync(at('rows.jsonl'), '{"prompt":"a","completion":"b"}\n');
  await trainInit(
    {
      ...{ preset: 'own-task', base: at('base'), data: [at('rows.jsonl')], devices: 1, method: 'lora' },
      set: { steps: [4], batch_size: [8], checkpoint_every: [32], seed: [3, 4] },
    },
    { out: at('math') },
  );
  await trainInit({ preset: 'swh-1', base: at('base') }, { out: at('swh') });
  const { runs } = JSON.parse(readFileSync(at('math', 'training.json'), 'utf8')) as Manifest;
  const trained = {
    math: at('math', String(runs[1]?.['path']), 'checkpoints', 'checkpoint-4'),
    swh: at('swh', 'checkpoints', 'checkpoint-625'),
  };
  for (const [seed, path] of Object.values(trained).entries())
    writeCheckpoint(path, llama({ layers: 4, seed: seed + 5 }));
  writeFileSync(
    at('study.yaml'),
    `base: ./base\ntasks: {math-a: ${trained.math}}\nlanguages: {swahili: {swh-a: ${trained.swh}, swh-9: ./swh-9}}\nmerges:\n  - {name: default, method: layer_swap, bottom: 1, top: 1}\n`,
  );
  await runExperiment(at('study.yaml'), { out: at('study') });
  return { at, trained };
};

it('makes Tables 3 and 4 of the runs of the chosen experts, with empty cells for what was not recorded', async () => {
  const { at } = await written();
  const csvOf = async (...tables: string[]) =>
    formatTables((await scoreTables(at('study'), { tables })).tables, 'markdown');
  const training = await csvOf('training');
  const row = (text: string, name: string) =>
    text
      .split('\n')
      .find((line) => line.startsWith(`| ${name} `))
      ?.split('|')
      .map((cell) => cell.trim())
      .slice(1, -1);
  // Table 4's row of swh-1, and the preset's own values.
  expect(row(training, 'swh-a')).toEqual([
    'swh-a',
    '7e-8',
    '8',
    '1024',
    '0.1',
    '0.5',
    'wsd',
    '1000',
    '0.99',
    '625',
    '1',
    'full',
    'trl',
  ]);
  expect(row(training, 'math-a')?.slice(2, 3)).toEqual(['8']);
  expect(row(training, 'math-a')?.slice(9)).toEqual([
    '4',
    '4',
    expect.stringMatching(/^lora, rank \d+$/),
    'trl',
  ]);
  expect(training).not.toContain('swh-9');
  const datasets = await csvOf('datasets');
  expect(datasets).toMatch(/\| math \| +\| rows\.jsonl \| +\| +\| 32 \| 1 \| math-a \|/);
  expect(datasets).toMatch(
    /\| language \| swahili \| Aya \| CohereForAI\/aya_dataset \| Apache-2\.0 \| \d+ \| 1 \| swh-a \|/,
  );
  // Some data sets have no known licence.
  expect(datasets).toMatch(/\| lelapa\/Inkuba-instruct \| +\| \d+/);
  expect(datasets.match(/\| language \| swahili \|/g)).toHaveLength(4);
  const { out } = await writeReport(at('study'), { out: at('study.html') });
  expect(readFileSync(out, 'utf8')).toContain('CohereForAI/aya_dataset');

  // A manifest of an earlier version.
  const manifest = JSON.parse(readFileSync(at('swh', 'training.json'), 'utf8')) as Manifest;
  for (const run of manifest.runs) for (const key of ['row', 'trainer', 'seed', 'data']) delete run[key];
  writeFileSync(at('swh', 'training.json'), JSON.stringify(manifest));
  expect(row(await csvOf('training'), 'swh-a')?.filter(Boolean)).toEqual(['swh-a', '625', 'full']);
  expect(await csvOf('datasets')).not.toContain('Aya');

  // Models without a training have no such tables, also beside a foreign file of this name.
  writeFileSync(at('swh', 'training.json'), '{"runs": [{"name": 3}]}');
  cpSync(at('swh', 'training.json'), at('math', 'training.json'));
  expect((await scoreTables(at('study'), { tables: ['training', 'datasets'] })).tables).toEqual([]);
  const { stderr } = await cli(['table', at('study'), '--table', 'training']);
  expect(stderr).toContain('no model of this study was found in a folder of `layerloom train init`');
});
