import {
  copyFileSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type MergeOptions, merge, planMerge, readRecipe, recipeOf } from '../../src/index.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { writeFamily } from '../fixtures/family.js';

const mergedPair = async (options: Partial<MergeOptions> = {}) => {
  const family = writeFamily({ layers: 2 });
  const { a, b, root } = family;
  const out = join(root, 'merged');
  await merge({ method: 'soup', models: [a, b] }, { out, threads: 1, layout: 'size', ...options });
  const weights = join(a, 'model.safetensors');
  return { ...family, out, record: join(out, 'layerloom.json'), card: join(out, 'README.md'), weights };
};

const touch = (file: string) => utimesSync(file, 1, 1);

const rewrite = (file: string) => {
  const bytes = readFileSync(file);
  bytes[bytes.length - 1] = (bytes[bytes.length - 1] ?? 0) ^ 1;
  writeFileSync(file, bytes);
  touch(file);
};

describe('a layerloom.json as a recipe', () => {
  it('refuses an input that has changed, naming file and remedy, unless it is allowed', async () => {
    const { weights, record, card } = await mergedPair();
    touch(weights);
    for (const file of [record, card])
      await expect(planMerge(file)).rejects.toMatchObject({
        code: 'INPUT_NOT_AS_RECORDED',
        exitCode: 3,
        details: { file: weights, record },
        message: expect.stringMatching(/modification time.*`allowChanged`/),
      });
    await expect(planMerge(record, { allowChanged: true })).resolves.toMatchObject({ method: 'soup' });
    truncateSync(weights, statSync(weights).size - 2);
    await expect(planMerge(record)).rejects.toThrow();
  });

  it('compares the contents of a touched input where their SHA-256 was recorded', async () => {
    const { weights, record } = await mergedPair({ checksums: true });
    touch(weights);
    await expect(planMerge(record)).resolves.toMatchObject({ method: 'soup' });
    rewrite(weights);
    await expect(planMerge(record)).rejects.toMatchObject({
      code: 'INPUT_NOT_AS_RECORDED',
      details: { file: weights, reason: 'was written' },
    });
  });

  it('finds models that have moved together with the file', async () => {
    const { record, a, b, root } = await mergedPair();
    const elsewhere = join(temporaryDirectory(), 'elsewhere');
    renameSync(root, elsewhere);
    copyFileSync(record.replace(root, elsewhere), join(elsewhere, 'layerloom.json'));
    const { inputs } = await planMerge(join(elsewhere, 'layerloom.json'));
    expect(inputs.map(({ path }) => path)).toEqual([a, b].map((path) => path.replace(root, elsewhere)));
    rewrite(join(elsewhere, 'a', 'model.safetensors'));
    await expect(planMerge(join(elsewhere, 'layerloom.json'))).rejects.toMatchObject({
      code: 'INPUT_NOT_AS_RECORDED',
    });
  });

  it('refuses one of a version that recorded no complete recipe', async () => {
    const { record } = await mergedPair();
    const { completeRecipe, ...old } = JSON.parse(readFileSync(record, 'utf8'));
    expect(completeRecipe).toMatchObject({ method: 'soup', models: ['./a', './b'], layout: 'size' });
    writeFileSync(record, JSON.stringify(old));
    await expect(planMerge(record)).rejects.toThrow(/records no complete recipe: layerloom 0\.1\.0 wrote it/);
  });

  it('names line and column of what does not hold', async () => {
    const { record } = await mergedPair();
    const text = readFileSync(record, 'utf8').replace('"./b"', '"./missing"');
    writeFileSync(record, text);
    const line = text.slice(0, text.indexOf('"./missing"')).split('\n').length;
    await expect(planMerge(record)).rejects.toMatchObject({
      code: 'MODEL_NOT_FOUND',
      message: expect.stringContaining(`layerloom.json:${line}:`),
    });
  });

  it('is read with its inputs, and a recipe in JSON stays a recipe', async () => {
    const { record, a, b, root } = await mergedPair();
    const { recipe, recorded } = await readRecipe(record);
    expect(recipe).toMatchObject({ method: 'soup', models: [a, b], layout: 'size' });
    expect(recorded?.inputs.map(({ name }) => name)).toEqual(['a', 'b']);
    writeFileSync(join(root, 'recipe.json'), '{"method": "soup", "models": ["a", "b"]}');
    expect((await readRecipe(join(root, 'recipe.json'))).recipe).toMatchObject({ models: [a, b] });
  });
});

describe('a card as a recipe', () => {
  it('takes models beside it before those that were recorded', async () => {
    const { a, out, card } = await mergedPair();
    const own = join(out, 'a');
    renameSync(a, own);
    const { inputs } = await planMerge(card);
    expect(inputs[0]?.path).toBe(own);
  });

  it('is refused without a block of YAML, and where a model is nowhere', async () => {
    const { card, a, record } = await mergedPair();
    rmSync(a, { recursive: true });
    await expect(planMerge(card)).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
    rmSync(record);
    await expect(planMerge(card)).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
    writeFileSync(card, '# A model\n\n```python\n```\n');
    await expect(planMerge(card)).rejects.toMatchObject({ code: 'RECIPE_INVALID' });
  });
});

describe('names of folders that look like something else', () => {
  it.for(['x=y', 'x=y=z', 'soup.yaml', 'union', '1e5', 'a: b #c', '```yaml'])(
    'are kept: %s',
    async (name) => {
      const { root, a, b } = writeFamily({ layers: 2 });
      const [odd, out] = [join(root, name), join(root, 'merged')];
      renameSync(a, odd);
      const { shards } = await merge({ method: 'soup', models: [odd, b] }, { out, threads: 1 });
      copyFileSync(join(out, 'README.md'), join(root, 'card.md'));
      for (const file of [join(out, 'layerloom.json'), join(out, 'README.md'), join(root, 'card.md')]) {
        const again = await planMerge(file);
        expect(again.inputs.map((input) => input.name)).toEqual([name, 'b']);
        expect(again.shards.map(({ file }) => file)).toEqual(shards.map(({ file }) => file));
        expect(again.completeRecipe).toMatchObject({ models: [`./${name}`, './b'] });
      }
    },
  );

  it('are no names to give: . and .. are folders', async () => {
    const { a, b } = writeFamily({ layers: 2 });
    for (const name of ['.', '..'])
      await expect(planMerge({ method: 'soup', models: [`${name}=${a}`, b] })).rejects.toMatchObject({
        code: 'MODEL_NOT_FOUND',
      });
  });
});

describe('recipeOf', () => {
  it('makes the same plan again, also where two names stand for one model', async () => {
    const { base, a, b } = writeFamily({ layers: 2 });
    const plan = await planMerge({
      method: 'della',
      base,
      models: [{ model: a, name: 'mine', weight: 0.5 }, `${b}/`],
      density: [{ filter: 'mlp', value: [0.2, 0.5] }, { value: 0.4 }],
      epsilon: 0.1,
      weight: 1,
      outDtype: 'float16',
      tokenizerSource: `mine=${a}`,
      layout: 'size',
    });
    const recipe = recipeOf(plan);
    expect(recipe).toMatchObject({ models: [{ model: `mine=${a}`, weight: 0.5 }, b], layout: 'size' });
    expect(await planMerge(recipe)).toEqual(plan);
  });

  it('gives a second spelling of a model a name that no other model has', async () => {
    const { base, a, root } = writeFamily({ layers: 2 });
    const other = join(root, 'base-2');
    renameSync(a, other);
    const models = [`${base}/.`, other];
    const plan = await planMerge({ method: 'task_arithmetic', base, models, weight: 0.5 });
    expect(plan.completeRecipe).toMatchObject({ base: 'base-3=./base', models: ['./base', './base-2'] });
    await expect(planMerge(recipeOf(plan))).resolves.toMatchObject({ method: 'task_arithmetic' });
  });

  it('keeps two spellings of one model two models', async () => {
    const { base, a } = writeFamily({ layers: 2 });
    const plan = await planMerge({
      method: 'task_arithmetic',
      base,
      models: [a, { model: `${base}/.`, weight: 3 }],
      weight: 1,
      normalize: true,
    });
    const again = await planMerge(recipeOf(plan));
    expect(again.shards.map(({ tensors }) => tensors.length)).toEqual(
      plan.shards.map(({ tensors }) => tensors.length),
    );
    expect(JSON.stringify(again.shards)).toContain('0.25');
  });
});
