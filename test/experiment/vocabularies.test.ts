import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, vi } from 'vitest';
import { merge, runExperiment } from '../../src/index.js';
import type { BatchMerge } from '../../src/study/batch/planning/batch-merge.js';
import { planBatch } from '../../src/study/batch/planning/batch-plan.js';
import { runBatch } from '../../src/study/batch/run-batch.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { contentsOf } from '../fixtures/experiment.js';
import { writeVocabulary } from '../fixtures/vocabulary.js';

// Whole batches, on disks of any speed.
vi.setConfig({ testTimeout: 60_000 });

const tokens = ['<unk>', 'a', 'b', 'c', 'd', 'e', 'f'];

const pairs = () => {
  const root = temporaryDirectory();
  const write = (name: string, seed: number, added: readonly string[]) =>
    writeVocabulary(join(root, name), { tokens, added, seed, layers: 4 });
  const tasks = [write('plain', 1, []), write('padded', 2, ['<pad>'])];
  const languages = [write('other', 3, ['<x>']), write('same', 4, ['<pad>'])];
  const merges = tasks.flatMap((task, t) =>
    languages.flatMap((language, l) =>
      [1, 2].map((bottom): BatchMerge => {
        const recipe = { method: 'layer_swap', task, language, bottom, top: 1 } as const;
        return { name: `${t}+${l}/${bottom}`, recipe };
      }),
    ),
  );
  return { root, merges };
};

it('makes merges of experts that added different tokens as each alone, and shares what is equal', async () => {
  const { root, merges } = pairs();
  const out = join(root, 'out');
  const { shards, warnings } = await planBatch(merges, {});
  // Layers come from one expert, whatever the vocabulary.
  expect(shards.size).toBeLessThan(merges.length * 4);
  expect(warnings.join()).toContain('lacks 1 token');
  const result = await runBatch(merges, { out });
  expect(result.merges.map(({ state }) => state)).toEqual(merges.map(() => 'done'));
  const whole = contentsOf(out, (path) => path.endsWith('.safetensors') && !path.startsWith('.store'));
  for (const { name, recipe } of merges) {
    const alone = join(root, 'alone', name);
    await merge(recipe, { out: alone });
    const isVocabulary = (path: string) => /\.safetensors$|^(tokenizer|config)\.json$/.test(path);
    expect([name, contentsOf(join(out, name), isVocabulary)]).toEqual([
      name,
      contentsOf(alone, isVocabulary),
    ]);
  }
  // Parts of the shards, each made by itself, then linked.
  const parts = join(root, 'parts');
  for (const index of [0, 1, 2]) await runBatch(merges, { out: parts, range: { index, count: 3 } });
  expect(existsSync(join(parts, '0+0'))).toBe(false);
  const linked = await runBatch(merges, { out: parts });
  expect(linked.bytesWritten).toBe(0);
  expect(contentsOf(parts, (path) => path.endsWith('.safetensors') && !path.startsWith('.store'))).toEqual(
    whole,
  );
});

it('takes the source of the tokenizer from an option, which must hold for all merges', async () => {
  const { root } = pairs();
  const experiment = {
    tasks: { plain: './plain' },
    languages: { swahili: { other: './other' } },
    merges: [{ name: 'soup', method: 'soup' }],
  } as const;
  const run = (tokenizer: string) =>
    runExperiment(experiment, { out: join(root, `out-${tokenizer}`), directory: root, tokenizer });
  await expect(run('./plain')).rejects.toMatchObject({ code: 'INVALID_PARAMETER' });
  expect((await run('union')).merges.map(({ state }) => state)).toEqual(['done']);
  await expect(run('strict')).rejects.toMatchObject({ code: 'TOKENIZER_MISMATCH' });
});
