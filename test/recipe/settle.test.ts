import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { settle } from '../../src/core/settle/settle.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeRun } from '../fixtures/runs.js';

const root = fileURLToPath(new URL('../../src', import.meta.url));

const modelsOf = async (...[given, overrides]: Parameters<typeof settle>) =>
  (await settle(given, overrides)).models.map(({ model }) => model);

describe('a recipe as written', () => {
  it('becomes the recipe that is planned through settle alone', () => {
    const filesWith = (word: RegExp) =>
      readdirSync(root, { recursive: true, encoding: 'utf8' })
        .filter((file) => file.endsWith('.ts') && word.test(readFileSync(join(root, file), 'utf8')))
        .map((file) => relative(root, join(root, file)))
        .sort();
    // `merge` checks a recipe without an output, and an experiment's entries are checked before models are opened.
    expect(filesWith(/\bparseRecipe\(/)).toEqual([
      'api/merge.ts',
      'core/methods/recipe/recipe.ts',
      'core/settle/settle.ts',
      'study/experiment/file/expand.ts',
    ]);
    for (const step of ['withCheckpoints', 'inForm'])
      expect(filesWith(new RegExp(`\\b${step}\\(\\w+\\)`))).toContain('core/settle/settle.ts');
    expect(filesWith(/from '.*\/(run-checkpoints|output-form)\.js'/)).toEqual(['core/settle/settle.ts']);
  });

  it('keeps the setting that no option overrides', async () => {
    const given = { method: 'soup', models: ['a', 'b'], outDtype: 'float16', rank: 3 };
    const kept = await settle(given, { dtype: undefined, rank: undefined });
    const other = await settle(given, { dtype: 'bfloat16', rank: 4 });
    expect([kept.dtype, kept.rank, other.dtype, other.rank]).toEqual(['F16', 3, 'BF16', 4]);
    expect(given).toEqual({ method: 'soup', models: ['a', 'b'], outDtype: 'float16', rank: 3 });
  });

  it('takes the tokenizer of a model by its path, whatever the recipe said of it', async () => {
    const given = { method: 'soup', models: ['a', { model: './b', name: 'n' }], tokenizerSource: 'b' };
    expect((await settle(given, { tokenizer: 'b/' })).tokenizer.source).toBe(1);
    const block = { ...given, tokenizerSource: undefined, tokenizer: { source: 'a', padToMultipleOf: 8 } };
    const { tokenizer } = await settle(block, { tokenizer: './b' });
    expect([tokenizer.source, tokenizer.padToMultipleOf]).toEqual([1, 8]);
    await expect(settle({ ...given, tokenizer: 'b' }, { tokenizer: 'b' })).rejects.toThrow(
      'tokenizer: expected source, tokens or pad_to_multiple_of, got "b"',
    );
  });

  it('is expanded only where it is a run and nothing else', async () => {
    const { run } = writeRun(join(temporaryDirectory(), 'run'), [1, 2, 3]);
    const soup = { method: 'soup', schedule: 'ema', models: [run] };
    const checkpoints = [1, 2, 3].map((step) => join(run, `checkpoint-${step}`));
    expect(await modelsOf(soup)).toEqual(checkpoints);
    expect(await modelsOf({ ...soup, models: [{ model: run, name: 'r' }], window: 1 })).toEqual([
      `r-3=${checkpoints[2]}`,
    ]);
    expect(await modelsOf({ method: 'soup', models: [run] })).toEqual([run]);
    await expect(settle({ ...soup, models: [run, 5] })).rejects.toThrow(/models\.1/);
    await expect(settle({ ...soup, models: [{ model: run, weight: 2 }] })).rejects.toThrow(/models\.0/);
    await expect(settle({ ...soup, window: 0 })).rejects.toThrow(/window/);
  });

  it('stays one object where several recipes share it', async () => {
    const shared = { method: 'soup', models: ['a', 'b'] };
    const swap = { method: 'layer_swap', task: shared, language: { method: 'soup', models: [shared, 'c'] } };
    const { nested } = await settle(swap);
    expect([...nested.keys()][0]).toBe(shared);
    expect([...([...nested.values()][1]?.nested.keys() ?? [])]).toEqual([shared]);
  });

  it.each([
    [undefined, 'recipe is missing: expected a recipe'],
    [7, 'recipe: expected a recipe'],
    [[1], 'method is missing'],
    [{ method: 7 }, 'method: expected one of'],
    [{ method: 'tise' }, 'did you mean ties?'],
    [{ method: 'soup', models: ['a', 'b'], as: 'adaptor' }, 'did you mean adapter?'],
  ])('is refused before models are looked for: %j', async (given, message) => {
    await expect(settle(given, { tokenizer: 'a' })).rejects.toThrow(message);
  });
});
