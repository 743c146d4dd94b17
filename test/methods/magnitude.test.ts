import { readFileSync, utimesSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { analyze, layerSwap, planMerge, type RecipeInput, soup } from '../../src/index.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { average, readTensors } from '../fixtures/merged.js';

const writeFamily = () => {
  const root = temporaryDirectory();
  const fixtures = [1, 2, 3].map((seed) => llama({ seed, layers: 3 }));
  const [base = '', task = '', language = ''] = ['base', 'task', 'language'].map((name, index) =>
    writeCheckpoint(join(root, name), fixtures[index] ?? llama()),
  );
  return { root, base, task, language, tensors: fixtures.map(({ tensors }) => tensors) };
};

describe('magnitude weights', () => {
  it('are 1 / mean MAV of each expert, in swaps and in soups, and are recorded', async () => {
    const { root, base, task, language, tensors } = writeFamily();
    const analysis = join(root, 'analysis');
    const { experts } = await analyze({ base, experts: [task, language] }, { out: analysis });
    const inverse = experts.map(({ inverseMav }) => inverseMav ?? 0);
    const sum = inverse.reduce((a, b) => a + b);
    const name = 'model.embed_tokens.weight';
    const expected = Buffer.from(
      average(
        'BF16',
        tensors.slice(1).flatMap((model) => model[name] ?? []),
        inverse,
      ),
    );
    const [swapped, souped, saved] = ['swap', 'soup', 'saved'].map((out) => join(root, out));
    const weights = 'magnitude' as const;
    const swap = { task, language, base, bottom: 1, top: 1, weights };
    await layerSwap(swap, { out: swapped ?? '' });
    await soup({ models: [task, language], base, weights }, { out: souped ?? '' });
    await layerSwap(swap, { out: saved ?? '', analysis });
    for (const out of [swapped, souped, saved]) {
      expect((await readTensors(out ?? ''))[name]?.data).toEqual(expected);
      const { recipe } = JSON.parse(readFileSync(join(out ?? '', 'layerloom.json'), 'utf8'));
      expect(recipe).toMatchObject({ weights, magnitude_weights: inverse.map((weight) => weight / sum) });
    }
  });

  it('need a base, and an expert that differs from it', async () => {
    const { base, task, language } = writeFamily();
    const recipe: RecipeInput = { method: 'soup', models: [task, language], weights: 'magnitude' };
    await expect(planMerge(recipe)).rejects.toMatchObject({ code: 'INVALID_PARAMETER', exitCode: 2 });
    await expect(
      planMerge({ ...recipe, models: [task, `same=${base}`], base } as RecipeInput),
    ).rejects.toMatchObject({
      code: 'MAV_UNDEFINED',
      exitCode: 3,
    });
  });

  it('are refused from an analysis of other files', async () => {
    const { root, base, task, language } = writeFamily();
    const analysis = join(root, 'analysis');
    // Two files with one header may have equal times within the file system's clock tick.
    utimesSync(join(task, 'model.safetensors'), 1, 1);
    await analyze({ base, experts: [`task=${language}`, `language=${task}`] }, { out: analysis });
    const recipe: RecipeInput = { method: 'soup', models: [task, language], base, weights: 'magnitude' };
    await expect(planMerge(recipe, { analysis })).rejects.toMatchObject({ code: 'ANALYSIS_MISMATCH' });
  });
});
