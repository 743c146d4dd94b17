import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { merge, openCheckpoint, relayout, soup, verify } from '../../src/index.js';
import { lora, writeAdapter } from '../fixtures/adapters.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { hashOf } from '../fixtures/contents.js';

// PEFT saves the adapter `default` in a directory, and each other in a folder of its name there.

const make = (names: readonly string[]) => {
  const root = temporaryDirectory();
  const base = writeCheckpoint(join(root, 'base'), llama());
  const run = join(root, 'run');
  mkdirSync(run);
  for (const [seed, name] of names.entries()) writeAdapter(join(run, name), lora({ seed: seed + 1 }));
  return { root, base, run };
};

it('BASE+DIR#NAME is the base with the adapter of that name, in commands and recipes', async () => {
  const { root, base, run } = make(['.', 'policy', 'ref']);
  const merged = async (model: string, name: string) =>
    hashOf((await relayout({ model }, { out: join(root, name) })).out);
  for (const [name, folder] of [
    ['default', run],
    ['policy', join(run, 'policy')],
    ['ref', join(run, 'ref')],
  ] as const)
    expect(await merged(`${base}+${run}#${name}`, name)).toBe(
      await merged(`${base}+${folder}`, `of ${name}`),
    );
  const recipe = join(root, 'recipe.yaml');
  writeFileSync(recipe, 'method: soup\nmodels: [./base+./run#policy, x=./base+./run#ref]\n');
  const { out } = await merge(recipe, { out: join(root, 'by-recipe') });
  const models = [`${base}+${join(run, 'policy')}`, `${base}+${join(run, 'ref')}`];
  expect(hashOf(out)).toBe(hashOf((await soup({ models }, { out: join(root, 'by-paths') })).out));
  const { verdict } = await verify(join(root, 'ref'), { against: `${base}+${run}#ref` });
  expect(verdict).toBe('intact');
  const other = await verify(join(root, 'ref'), { against: `${base}+${run}#policy` });
  expect(other.verdict).toBe('different');
});

it('takes the adapter default without a name, and says which others there are', async () => {
  const { base, run } = make(['.', 'ref', 'checkpoint-5']);
  const { warnings, adapted } = await openCheckpoint(`${base}+${run}`);
  expect(adapted?.adapter.path).toBe(run);
  expect(warnings).toEqual([
    `${run} is its adapter default, of the adapters default, ref; name one, as in ${run}#default`,
  ]);
  const { run: ofOne, base: alone } = make(['.', 'checkpoint-5']);
  expect((await openCheckpoint(`${alone}+${ofOne}`)).warnings).toEqual([]);
});

it('refuses a directory of several without a name, and a name that it lacks', async () => {
  const { base, run } = make(['policy', 'ref']);
  const said = `the adapters policy, ref; name one, as in ${run}#policy`;
  for (const model of [`${base}+${run}`, run])
    await expect(openCheckpoint(model)).rejects.toMatchObject({
      code: 'NOT_A_CHECKPOINT',
      message: expect.stringContaining(said),
    });
  for (const name of ['other', 'default'])
    await expect(openCheckpoint(`${base}+${run}#${name}`)).rejects.toMatchObject({
      code: 'MODEL_NOT_FOUND',
      message: expect.stringContaining(said),
    });
  for (const name of ['..', '.', '../base', 'policy#', ''])
    await expect(openCheckpoint(`${base}+${run}#${name}`)).rejects.toMatchObject({ code: 'MODEL_NOT_FOUND' });
  await expect(openCheckpoint(`${base}+org/name#ref`)).rejects.toThrow(/download the repository/);
  await expect(openCheckpoint('./absent#ref')).rejects.toThrow(
    /^(?!.*download the repository).*no such model/s,
  );
});

it('takes a path that exists as it is', async () => {
  const { base, run } = make(['policy']);
  const path = writeAdapter(`${run}#policy`, lora({ seed: 9 }));
  const { adapted } = await openCheckpoint(`${base}+${path}`);
  expect(adapted?.adapter.path).toBe(path);
});
