import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { openCheckpoint, planMerge, soup } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { type Family, writeFamily } from '../fixtures/family.js';

const write = ({ a, b }: Family, files: Readonly<Record<string, string>>): void => {
  for (const model of [a, b])
    for (const [name, text] of Object.entries(files)) {
      mkdirSync(dirname(join(model, name)), { recursive: true });
      writeFileSync(join(model, name), text);
    }
};

const modules = {
  'modules.json': '[]',
  'config_sentence_transformers.json': '{}',
  'sentence_bert_config.json': '{"max_seq_length": 512}',
  '1_Pooling/config.json': '{"pooling_mode_mean_tokens": true}',
};

it('a merge of sentence-transformers models has their modules', async () => {
  const family = writeFamily();
  write(family, modules);
  const out = join(temporaryDirectory(), 'out');
  const { warnings } = await soup({ models: [family.a, family.b] }, { out });
  expect(warnings).toEqual([]);
  for (const [name, text] of Object.entries(modules))
    expect(readFileSync(join(out, name), 'utf8'), name).toBe(text);
  expect((await openCheckpoint(out)).sideFiles).toEqual(expect.arrayContaining(Object.keys(modules)));
});

it('what a merge leaves behind is listed once: no model card, no hidden file, and no weights of the model', async () => {
  const family = writeFamily();
  const left = {
    'training_args.bin': '',
    'eval/results.txt': '',
    'notes.txt': '',
    '2_Dense/pytorch_model.bin': '',
  };
  const unsaid = { 'README.md': '# a', '.gitattributes': '', 'layerloom.json': '{}' };
  write(family, { ...modules, ...left, ...unsaid, '2_Dense/config.json': '{}' });
  const plan = await planMerge({ method: 'soup', models: [family.a, family.b] });
  expect(plan.warnings).toEqual([
    'files of a that the output does not get: 2_Dense/pytorch_model.bin, eval/, notes.txt, training_args.bin; copy what it needs',
  ]);
  const out = join(temporaryDirectory(), 'out');
  await soup({ models: [family.a, family.b] }, { out });
  expect(existsSync(join(out, '2_Dense/config.json'))).toBe(true);
  expect(existsSync(join(out, '2_Dense/pytorch_model.bin'))).toBe(false);
});

it('names the first eight of many', async () => {
  const family = writeFamily();
  write(family, Object.fromEntries(Array.from({ length: 11 }, (_, index) => [`part-${index}.log`, ''])));
  const { warnings } = await planMerge({ method: 'soup', models: [family.a, family.b] });
  expect(warnings).toEqual([expect.stringMatching(/: part-0\.log, .*part-6\.log and 3 more; copy/)]);
});
