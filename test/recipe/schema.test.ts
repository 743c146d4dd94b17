import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments, stringify } from 'yaml';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import { toSnakeCase } from '../../src/core/methods/recipe/document/case.js';
import { readRecipe } from '../../src/core/methods/recipe/read-recipe.js';
import { parseRecipe } from '../../src/core/methods/recipe/recipe.js';
import { recipeSchema } from '../../src/core/schema/recipe-schema.js';
import { experimentSchema } from '../../src/study/experiment/experiment-schema.js';
import { expandExperiment } from '../../src/study/experiment/file/expand.js';
import { readExperiment } from '../../src/study/experiment/file/read-experiment.js';
import { experimentPreset, presetNames } from '../../src/study/paper/experiment.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';
import { everyMethod } from '../fixtures/every-method.js';

const ajv = new Ajv({
  allErrors: true,
  strict: true,
  strictRequired: false,
  strictTypes: false,
  formats: { uri: true },
});
const acceptsRecipe = ajv.compile(recipeSchema());
const acceptsExperiment = ajv.compile(experimentSchema());

const errorsOf = (accepts: typeof acceptsRecipe, text: string): string[] =>
  parseAllDocuments(text, { schema: 'core', merge: true }).flatMap((document) => {
    const value = document.toJS() as unknown;
    return value === null || accepts(value) ? [] : [ajv.errorsText(accepts.errors)];
  });

const root = new URL('../../', import.meta.url);
const sourcesOf = (folder: string, ending: string): string[] =>
  readdirSync(new URL(folder, root))
    .filter((name) => name.endsWith(ending))
    .map((name) => readFileSync(new URL(`${folder}/${name}`, root), 'utf8'));

const texts = [
  ...sourcesOf('docs', '.md').flatMap((page) => [...page.matchAll(/```yaml\n(.*?)```/gs)]),
  ...sourcesOf('test/recipe', '.test.ts').flatMap((test) => [...test.matchAll(/yaml`\n?([^`$]*)`/gs)]),
].map(([, text = '']) => {
  const indent = /^ */.exec(text)?.[0].length ?? 0;
  return text
    .split('\n')
    .map((line) => line.slice(indent))
    .join('\n');
});

const refusalOf = async (work: () => Promise<unknown>): Promise<string | undefined> => {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (error instanceof LayerloomError) return error.message;
    throw error;
  }
};

const fileOf = (text: string): string => {
  const file = join(temporaryDirectory(), 'file.yaml');
  writeFileSync(file, text);
  return file;
};

const readsRecipe = (text: string) =>
  refusalOf(async () => parseRecipe((await readRecipe(fileOf(text))).recipe));
const readsExperiment = (text: string) =>
  refusalOf(async () => expandExperiment(await readExperiment(fileOf(text))));

const isUnknownKey = (message: string | undefined): boolean =>
  /unknown key|has no parameter/.test(message ?? '');

const spelt = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(spelt);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, of]) => [toSnakeCase(key) ?? key, spelt(of)]));
};

describe('the JSON Schema of recipes', () => {
  it.each(Object.entries(everyMethod({ base: './base', a: './a', b: './b', c: './c' })))(
    'accepts %s',
    (_name, recipe) => {
      expect(errorsOf(acceptsRecipe, stringify(spelt(recipe)))).toEqual([]);
    },
  );

  it('accepts every recipe of tests and documentation that is one, and refuses unknown keys', async () => {
    const recipes = texts.filter((text) => /^(merge_)?method:/m.test(text));
    let [accepted, refused] = [0, 0];
    for (const text of recipes) {
      const message = await readsRecipe(text);
      if (message === undefined) {
        accepted += 1;
        expect(errorsOf(acceptsRecipe, text), text).toEqual([]);
      } else if (isUnknownKey(message)) {
        refused += 1;
        expect(errorsOf(acceptsRecipe, text), `${message}\n${text}`).not.toEqual([]);
      }
    }
    expect(accepted).toBeGreaterThan(10);
    expect(refused).toBeGreaterThan(2);
  });

  it('asks for both experts of a swap, or for parts', () => {
    expect(
      errorsOf(acceptsRecipe, 'method: layer_swap\ntask: ./a\nlanguage: ./b\nlang_layers: 0-4\n'),
    ).toEqual([]);
    expect(errorsOf(acceptsRecipe, 'method: layer_swap\nparts: [{model: ./a, layers: rest}]\n')).toEqual([]);
    expect(errorsOf(acceptsRecipe, 'method: layer_swap\ntask: ./a\n')).not.toEqual([]);
    expect(errorsOf(acceptsRecipe, 'method: layer_swap\nparts: [{model: ./a, layer: rest}]\n')).not.toEqual(
      [],
    );
  });

  it.each([
    ['method: ties\nbase: ./b\nmodels: [./a]\nweight: 1\ndensty: 0.5\n'],
    ['method: layer_swap\ntask: ./a\nlanguage: ./b\nbotom: 5\n'],
    ['method: soup\nmodels: [./a, {method: revert, model: ./a, base: ./b, botom: 1}]\n'],
    ['merge_method: linear\nmodel: [./a]\n'],
    ['method: ties\nbase: ./b\nmodels: [{model: ./a, weight: 1, lambda: 1}]\n'],
  ])('refuses %j, as layerloom does', async (text) => {
    expect(isUnknownKey(await readsRecipe(text))).toBe(true);
    expect(errorsOf(acceptsRecipe, text)).not.toEqual([]);
  });

  it('names the one key that is wrong, among methods', () => {
    const [errors = ''] = errorsOf(acceptsRecipe, 'method: ties\nbase: ./b\nmodels: [./a]\ndensty: 0.5\n');
    expect(errors).toContain('must NOT have additional properties');
    expect(errors).not.toContain('layer_swap');
  });
});

describe('the JSON Schema of experiments', () => {
  it.each(presetNames)('accepts the preset %s', (preset) => {
    expect(errorsOf(acceptsExperiment, experimentPreset(preset))).toEqual([]);
  });

  it('accepts every experiment of the documentation', async () => {
    const experiments = texts.filter((text) => /^tasks:/m.test(text) && /^merges:/m.test(text));
    expect(experiments.length).toBeGreaterThan(0);
    for (const text of experiments) {
      expect(await readsExperiment(text), text).toBeUndefined();
      expect(errorsOf(acceptsExperiment, text), text).toEqual([]);
    }
  });

  const models = 'base: ./b\ntasks: {m: ./m}\nlanguages: {swahili: {s: ./s}}\n';

  it.each([
    `${models}merges: [{name: a, method: layer_swap, botom: 5}]\n`,
    `${models}merges: [{name: a, method: ties, weight: 1, densty: [0.2, 0.5]}]\n`,
    `${models}merges: [{name: a, method: soup}]\nmax_shard_sise: 5GB\n`,
    `${models}merges: [{name: a, method: soup}]\nevaluate: {tasks: {swahili: mgsm_direct_sw}, fewshots: 8}\n`,
    `${models}merges: [{name: a, method: soup}]\nsearch: {budgets: 25%}\n`,
    `${models}merges: [{name: a, method: soup}]\nreferences: {j: {model: ./j, rol: joint}}\n`,
  ])('refuses %j, as layerloom does', async (text) => {
    expect(isUnknownKey(await readsExperiment(text)), await readsExperiment(text)).toBe(true);
    expect(errorsOf(acceptsExperiment, text)).not.toEqual([]);
  });
});
