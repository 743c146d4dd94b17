import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { noStatistics } from '../../src/core/methods/framework/declaration/method.js';
import { parseRecipe } from '../../src/core/methods/recipe/recipe.js';
import type { RecipeInput } from '../../src/index.js';
import { expandExperiment } from '../../src/study/experiment/file/expand.js';
import { expand, head, read, refusal } from './experiments.js';

const names = async (...entries: string[]): Promise<string[]> =>
  (await expand(...entries)).map(({ name }) => name);

const namesOfPair = async (entry: string): Promise<string[]> =>
  (await names(entry)).flatMap((name) =>
    name.startsWith('telugu/math-1+tel-1/') ? [name.slice('telugu/math-1+tel-1/'.length)] : [],
  );

describe('the merges of an experiment', () => {
  it('are every task expert with every expert of each language', async () => {
    expect(await names('{name: default, method: layer_swap}')).toEqual([
      'swahili/math-1+swh-1/default',
      'swahili/math-1+swh-2/default',
      'swahili/math-2+swh-1/default',
      'swahili/math-2+swh-2/default',
      'telugu/math-1+tel-1/default',
      'telugu/math-2+tel-1/default',
    ]);
  });

  it('take sets of layers as values of a grid, and parts as one value', async () => {
    expect(
      await namesOfPair(
        '{name: a, method: layer_swap, lang_layers: [0-4, "30,31", 7], others: [task, language]}',
      ),
    ).toEqual([
      'a/lang-layers-0-4-o-task',
      'a/lang-layers-0-4-o-language',
      'a/lang-layers-30_31-o-task',
      'a/lang-layers-30_31-o-language',
      'a/lang-layers-7-o-task',
      'a/lang-layers-7-o-language',
    ]);
    const parts = '[{model: language, layers: 0-4}, {models: [task, base], layers: rest}]';
    const merges = await expand(`{name: a, method: layer_swap, parts: ${parts}}`);
    expect(merges[0]).toMatchObject({
      name: 'swahili/math-1+swh-1/a',
      configuration: {
        parts: [
          { model: 'language', layers: '0-4' },
          { models: ['task', 'base'], layers: 'rest' },
        ],
      },
      recipe: { base: expect.stringMatching(/llama$/) },
    });
  });

  it('record no counts where layers are named', async () => {
    const [named] = await expand('{name: a, method: layer_swap, lang_layers: 0-4, base_layers: 12}');
    expect(named?.configuration).toEqual({
      weights: [1, 1],
      others: 'average',
      norms: 'layer',
      langLayers: '0-4',
      baseLayers: 12,
    });
    expect(named?.recipe).toMatchObject({ base: expect.stringMatching(/llama$/) });
  });

  it('say what they are of, with the defaults that hold', async () => {
    const experiment = await read(`${head}  - {name: default, method: layer_swap, bottom: 3}\n`);
    const [merge] = expandExperiment(experiment);
    const at = (name: string) => `${name}=${join(experiment.directory, name)}`;
    expect(merge).toEqual({
      name: 'swahili/math-1+swh-1/default',
      path: 'swahili/math-1+swh-1/default',
      language: 'swahili',
      task: 'math-1',
      languageExpert: 'swh-1',
      method: 'layer_swap',
      configuration: {
        bottom: 3,
        top: 2,
        bottomTransition: 0,
        topTransition: 0,
        weights: [1, 1],
        others: 'average',
        norms: 'layer',
        scaled: false,
      },
      recipe: {
        method: 'layer_swap',
        task: at('math-1'),
        language: at('swh-1'),
        bottom: 3,
        weights: [1, 1],
      },
      entry: 0,
      entryName: 'default',
    });
  });

  it.each<[string, string[]]>([
    ['{name: grid, method: layer_swap, bottom: [3], top: 0}', ['grid']],
    ['{name: grid, method: layer_swap, top: [0, 1], bottom: 3}', ['grid/u0', 'grid/u1']],
    [
      '{name: grid, method: layer_swap, weights: [uniform, magnitude, [1, 3]], top_transition: [0], bottom: [3, 4]}',
      ['b3-uniform', 'b3-magnitude', 'b3-w1-3', 'b4-uniform', 'b4-magnitude', 'b4-w1-3'].map(
        (x) => `grid/${x}`,
      ),
    ],
    ['{name: a, method: layer_swap, weights: [1, 3]}', ['a']],
    ['{name: a, method: layer_swap, layers: [[0, 0], [8, 4]]}', ['a/b0-u0', 'a/b8-u4']],
    ['{name: a, method: layer_swap, layers: [8, 4]}', ['a']],
    [
      '{name: a, method: layer_swap, others: [task, lang], norms: [layer, average]}',
      ['a/o-task-n-layer', 'a/o-task-n-average', 'a/o-lang-n-layer', 'a/o-lang-n-average'],
    ],
    [
      '{name: ties, method: ties, density: [0.2, 1], lambda: [1, 2]}',
      ['ties/d0.2-l1', 'ties/d0.2-l2', 'ties/d1-l1', 'ties/d1-l2'],
    ],
    ['{name: ties, method: ties, int8_mask: [true, false]}', ['ties/int8-mask-true', 'ties/int8-mask-false']],
    [
      '{name: s, method: slerp, t: [0.25, 0.5], base: [task, language]}',
      ['s/t0.25-base-task', 's/t0.25-base-language', 's/t0.5-base-task', 's/t0.5-base-language'],
    ],
    [
      '{name: m, method: [ties, dare_ties], density: [0.2, 0.5]}',
      ['m/ties/d0.2', 'm/ties/d0.5', 'm/dare_ties/d0.2', 'm/dare_ties/d0.5'],
    ],
    ['{name: d, method: layer_swap, dtype: [bfloat16, float32]}', ['d/dtype-bfloat16', 'd/dtype-float32']],
  ])('of %s are named by what varies', async (entry, expected) => {
    expect(await namesOfPair(entry)).toEqual(expected);
  });

  it('have the values that their names say', async () => {
    const merges = await expand(
      '{name: grid, method: layer_swap, layers: [[3, 0], [8, 4]], bottom_transition: [0, 1], weights: [uniform, magnitude]}',
    );
    const found = merges.find(({ name }) => name === 'swahili/math-2+swh-1/grid/b8-u4-tb1-magnitude');
    expect(found?.configuration).toMatchObject({
      bottom: 8,
      top: 4,
      bottomTransition: 1,
      weights: 'magnitude',
    });
    expect(found?.recipe).toMatchObject({ bottom: 8, top: 4, bottomTransition: 1, weights: 'magnitude' });
    expect(found?.configuration).not.toHaveProperty('layers');
  });

  it('are soups, of one object wherever they stand', async () => {
    const merges = await expand(
      '{name: soup-of-each, method: layer_swap, task: soup, language: soup}',
      '{name: half, method: layer_swap, task: soup}',
      '{name: other, method: soup, language: soup, weights: [uniform, magnitude]}',
    );
    expect(merges.map(({ name }) => name)).toEqual([
      'swahili/soup-of-each',
      'telugu/soup-of-each',
      'swahili/soup+swh-1/half',
      'swahili/soup+swh-2/half',
      'telugu/soup+tel-1/half',
      'swahili/math-1+soup/other/uniform',
      'swahili/math-2+soup/other/uniform',
      'telugu/math-1+soup/other/uniform',
      'telugu/math-2+soup/other/uniform',
      'swahili/math-1+soup/other/magnitude',
      'swahili/math-2+soup/other/magnitude',
      'telugu/math-1+soup/other/magnitude',
      'telugu/math-2+soup/other/magnitude',
    ]);
    expect(merges[0]).toMatchObject({ language: 'swahili', task: 'soup', languageExpert: 'soup' });
    const soups = merges.flatMap(({ recipe }) => {
      const { task, language, models = [] } = recipe as unknown as Record<string, unknown[] | undefined>;
      return [task, language, ...models].filter((model) => typeof model === 'object');
    });
    // Soups of the task experts, of Swahili's and of Telugu's.
    expect(new Set(soups).size).toBe(3);
    expect(soups[0]).toEqual({
      method: 'soup',
      models: [expect.stringMatching(/^math-1=\/.*\/math-1$/), expect.stringMatching(/^math-2=\//)],
    });
  });

  it('with the soup of every language are one for all languages', async () => {
    const [one, ...more] = await expand(
      '{name: multilingual, method: layer_swap, task: soup, language: all-soup}',
      '{name: each, method: layer_swap, language: all-soup}',
    );
    expect(one).toMatchObject({
      name: 'all/multilingual',
      language: 'all',
      task: 'soup',
      languageExpert: 'all-soup',
      recipe: { language: { method: 'soup', models: { length: 3 } } },
    });
    expect(more.map(({ name }) => name)).toEqual(['all/math-1+all-soup/each', 'all/math-2+all-soup/each']);
  });

  it('may be of some experts only', async () => {
    expect(await names('{name: a, method: ties, task: math-2, language: [swh-1, soup]}')).toEqual([
      'swahili/math-2+swh-1/a',
      'swahili/math-2+soup/a',
      'telugu/math-2+soup/a',
    ]);
  });

  it('revert each expert once', async () => {
    const merges = await expand('{name: revert, method: revert, model: [task, language], bottom: [3, 5]}');
    expect(merges.map(({ name }) => name)).toEqual(
      ['b3', 'b5'].flatMap((label) =>
        ['all/math-1', 'all/math-2', 'swahili/swh-1', 'swahili/swh-2', 'telugu/tel-1'].map(
          (directory) => `${directory}/revert/${label}`,
        ),
      ),
    );
    expect(merges[0]).toMatchObject({
      task: 'math-1',
      languageExpert: null,
      recipe: {
        model: expect.stringMatching(/^math-1=/),
        base: expect.stringMatching(/\/llama$/),
        bottom: 3,
      },
    });
    expect(merges[2]).toMatchObject({ language: 'swahili', task: null, languageExpert: 'swh-1' });
  });

  it.each<[string, string, Record<string, unknown>]>([
    ['ties', '{name: a, method: ties}', { base: 'llama', weights: [1, 1] }],
    ['ties of given weights', '{name: a, method: ties, weights: [1, 3]}', { base: 'llama', weights: [1, 3] }],
    ['linear', '{name: a, method: linear}', { base: undefined, weights: [1, 1] }],
    ['a weight for both', '{name: a, method: linear, weight: 0.5}', { weights: undefined, weight: 0.5 }],
    ['nuslerp', '{name: a, method: nuslerp}', { base: undefined, weights: [1, 1] }],
    ['nuslerp of task vectors', '{name: a, method: nuslerp, base: base}', { base: 'llama' }],
    ['karcher', '{name: a, method: karcher}', { base: undefined, weights: undefined }],
    ['slerp', '{name: a, method: slerp, t: 0.5}', { base: 'math-1' }],
    ['slerp from the other end', '{name: a, method: slerp, t: 0.5, base: language}', { base: 'swh-1' }],
    ['nearswap', '{name: a, method: nearswap, t: 0.001}', { base: 'math-1' }],
    ['a soup', '{name: a, method: soup}', { base: undefined, weights: [1, 1] }],
    ['a soup by magnitude', '{name: a, method: soup, weights: magnitude}', { base: 'llama' }],
    ['a swap by magnitude', '{name: a, method: layer_swap, weights: magnitude}', { base: 'llama' }],
    ['a swap with a base', '{name: a, method: layer_swap, base: ./other}', { base: 'other' }],
    ['model_stock', '{name: a, method: model_stock}', { base: 'llama', weights: undefined }],
  ])('of %s have the base and weights that the method takes', async (_, entry, expected) => {
    const [merge] = await expand(entry);
    const recipe = merge?.recipe as unknown as Record<string, unknown>;
    for (const [key, value] of Object.entries(expected))
      if (key === 'base' && value !== undefined) expect(recipe['base']).toMatch(new RegExp(`/${value}$`));
      else expect([key, recipe[key]]).toEqual([key, value]);
    expect(parseRecipe(merge?.recipe as never).models.length).toBeGreaterThan(0);
    if (Array.isArray(recipe['models'])) expect(recipe['models'][0]).toMatch(/^math-1=/);
  });

  it('of an expert alone begin from the base, also where those of a pair begin from the task expert', async () => {
    for (const [role, expert] of [
      ['task', 'math-1'],
      ['language', 'swh-1'],
    ] as const) {
      const [merge] = await expand(`{name: a, method: slerp, t: 0.5, model: ${role}}`);
      expect(merge?.recipe).toMatchObject({
        base: expect.stringMatching(/\/llama$/),
        models: [expect.stringMatching(new RegExp(`^${expert}=`))],
      });
    }
  });

  it('are as many as a grid says, also thousands', async () => {
    const range = (length: number) => `[${Array.from({ length }, (_, index) => index).join(', ')}]`;
    const three = head.replace('math-2: ./math-2', 'math-2: ./math-2, math-3: ./math-3');
    const grid = await read(
      `${three.replace(/ {2}telugu.*\n/, '').replace('swh-2: ./swh-2', 'swh-2: ./swh-2, swh-3: ./swh-3')}` +
        '  - {name: grid, method: layer_swap, bottom: [3, 4, 5], top: [0, 1, 2], bottom_transition: [0, 1, 2], top_transition: [0, 1, 2]}\n',
    );
    const large = await read(
      `${head}  - {name: a, method: layer_swap, task: soup, language: soup, bottom: ${range(10)}, top: ${range(10)}, bottom_transition: ${range(50)}}\n`,
    );
    expect(expandExperiment(grid)).toHaveLength(729);
    expect(expandExperiment(large)).toHaveLength(10_000);
  });
});

describe('an experiment is refused', () => {
  it.each<[string, string, string]>([
    [
      'an unknown method',
      '{name: a, method: layerswap}',
      '7:23: layerswap: unknown method; expected one of layer_swap',
    ],
    [
      'a method with a file for each model',
      '{name: a, method: [soup, regmean]}',
      '7:30: regmean: takes grams, a file for each model, but each merge of an experiment has other models; expected another method, or a separate recipe with regmean for each merge, for `layerloom merge`',
    ],
    [
      'another one, whose files are named',
      '{name: a, method: fisher, importances: [x.safetensors, y.safetensors]}',
      '7:23: fisher: takes importances, a file for each model',
    ],
    ['no method', '{name: a, method: [1]}', '7:24: method: no method'],
    [
      'an unknown parameter',
      '{name: a, method: layer_swap, botom: [3, 4]}',
      '7:35: layer_swap has no parameter botom; it has',
    ],
    ['a misspelt parameter', '{name: a, method: ties, densty: 1}', 'did you mean density?\n'],
    [
      'a parameter of a grid',
      '{name: a, method: layer_swap, bottom: [3, 4, -1]}',
      '7:50: bottom: expected a whole number of layers, 0 or more, got -1',
    ],
    [
      'tied layers',
      '{name: a, method: layer_swap, layers: [[3, 1], [3, x]]}',
      '7:52: layers: not a pair of counts',
    ],
    [
      'layers beside bottom',
      '{name: a, method: layer_swap, layers: [[3, 1]], bottom: 3}',
      '7:35: layers: is set together with bottom',
    ],
    [
      'weights',
      '{name: a, method: soup, weights: [[1, 1], [1, 2, 3]]}',
      '7:47: weights: expected one weight for each model',
    ],
    [
      'weights that ties does not know',
      '{name: a, method: ties, weights: magnitude}',
      '7:38: weights: expected a list of numbers',
    ],
    ['an empty list', '{name: a, method: ties, density: []}', '7:38: density: the list is empty'],
    [
      'a gradient',
      '{name: a, method: ties, density: [[0.1, 1]]}',
      '7:39: density: a list where a value is expected',
    ],
    [
      'a filter',
      '{name: a, method: ties, density: {filter: mlp, value: 1}}',
      '7:38: density: a mapping where a value is expected',
    ],
    ['no value', '{name: a, method: ties, density: }', '7:29: density: it is empty'],
    [
      'a value twice',
      '{name: a, method: ties, density: [0.5, 0.5]}',
      '7:44: d0.5: this value of density stands at experiment.yaml:7:39 already',
    ],
    [
      'uniform twice',
      '{name: a, method: soup, weights: [uniform, [1, 1]]}',
      '7:48: uniform: this value of weights stands at',
    ],
    [
      'models',
      '{name: a, method: soup, models: [a, b]}',
      '7:29: models: an experiment merges pairs of its experts',
    ],
    [
      'an unknown expert',
      '{name: a, method: soup, language: shw-1}',
      '7:39: shw-1: not a language expert of the experiment; expected one of soup, all-soup, swh-1, swh-2, tel-1; did you mean swh-1?',
    ],
    ['an expert twice', '{name: a, method: soup, task: [soup, soup]}', '7:42: soup: is listed twice'],
    ['revert of nothing', '{name: a, method: revert}', '7:5: the merge lacks model'],
    [
      'revert of a pair',
      '{name: a, method: revert, model: task, task: soup}',
      '7:44: revert has no parameter task',
    ],
    [
      'an expert alone beside a pair',
      '{name: a, method: task_arithmetic, model: task, language: soup}',
      '7:53: language: is set together with model, which merges each expert alone',
    ],
    [
      'an expert alone that begins from another',
      '{name: a, method: slerp, t: 0.5, model: language, base: task}',
      '7:61: task: with model, each expert is merged alone, so no other expert can be its base; expected base, or a path',
    ],
    ['one model of two', '{name: a, method: passthrough}', '7:5: models: expected 1 model'],
    [
      'slerp on the base',
      '{name: a, method: slerp, t: 1, base: base}',
      '7:5: models: expected 1 model besides the base',
    ],
    [
      'a grid beyond reason',
      `{name: a, method: layer_swap, bottom: [${[...Array(400).keys()]}], top: [${[...Array(400).keys()]}]}`,
      '7:5: a: this would give 960000 merges',
    ],
  ])('for %s', async (_, entry, message) => {
    expect(await refusal(() => expand(entry))).toContain(message);
  });

  it.each([
    [
      'parts of other models than the pair’s',
      '{name: a, method: layer_swap, parts: [{model: ./other, layers: rest}]}',
      '7:51: parts: an experiment merges pairs of its experts; expected a model of the pair: task, language, base',
    ],
    [
      'parts of a recipe in a model’s place',
      '{name: a, method: layer_swap, parts: [{models: [task, {method: soup}], layers: rest}]}',
      'parts: an experiment merges pairs of its experts',
    ],
    [
      'counts beside sets of layers',
      '{name: a, method: layer_swap, lang_layers: 0-4, bottom: [3, 4]}',
      'not to be given with',
    ],
    ['a set that is none', '{name: a, method: layer_swap, lang_layers: [0-4, 4-0]}', 'numbers and ranges'],
  ])('for %s', async (_, entry, message) => {
    // Faults that do not depend on the models are refused before these are opened.
    const work = async () => {
      const merges = await expand(entry);
      const recipe = merges[0]?.recipe as RecipeInput;
      parseRecipe(recipe).compile({ layers: 32, models: [], ...noStatistics });
    };
    expect(await refusal(work)).toContain(message);
  });

  it('for a base that is needed and not there', async () => {
    const message = (entry: string) =>
      refusal(async () =>
        expandExperiment(await read(`${head.replace('base: ./llama\n', '')}  - ${entry}\n`)),
      );
    expect(await message('{name: a, method: ties}')).toContain(
      '6:23: ties: needs the model that the experts were fine-tuned from; expected base:',
    );
    expect(await message('{name: a, method: layer_swap, weights: [uniform, magnitude]}')).toContain(
      '6:44: magnitude: needs',
    );
    expect(await message('{name: a, method: layer_swap, weights: magnitude, base: ./llama}')).toBe(
      'not refused',
    );
    expect(await message('{name: a, method: slerp, t: 0.5}')).toBe('not refused');
  });

  it('for a merge whose directory is around another', async () => {
    expect(
      await refusal(() =>
        expand(
          '{name: swh-1, method: layer_swap, task: soup, language: soup}',
          '{name: revert, method: revert, model: language}',
        ),
      ),
    ).toContain(
      '8:5: swahili/swh-1/revert: swahili/swh-1, of the merge at experiment.yaml:7:5, is a directory around it',
    );
  });
});
