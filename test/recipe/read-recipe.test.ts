import { writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { LayerloomError } from '../../src/core/base/errors/errors.js';
import { type Path, readRecipe, withPlace } from '../../src/core/methods/recipe/read-recipe.js';
import { parseRecipe } from '../../src/core/methods/recipe/recipe.js';
import { type Files, read, refusal, writeFiles, yaml } from './recipes.js';

const documents = yaml`
  name: swahili
  merge_method: linear
  models: [{model: org/one}, {model: org/two}]
  ---
  method: layer_swap
  task: math
  language: swahili
  ---
  name: math
  method: soup
  models: [org/three, org/four]
`;

describe('a recipe as text', () => {
  it('is read in either dialect, with paths from the working directory', async () => {
    const models = ['./one', '../two'];
    const paths = models.map((model) => resolve(model));
    for (const text of [
      JSON.stringify({ method: 'soup', models }),
      '{method: soup, models: [./one, ../two]}',
    ])
      expect((await readRecipe(text)).recipe).toEqual({ method: 'soup', models: paths });
    const theirs = await readRecipe('{merge_method: linear, models: [{model: ./one}, {model: ../two}]}');
    expect(theirs.recipe).toEqual({
      method: 'linear',
      dialect: 'mergekit',
      models: models.map((model) => ({ model })),
    });
  });

  it('has places in errors, under the name of a recipe', async () => {
    await expect(readRecipe('{method: soup,\n models: [./one')).rejects.toMatchObject({
      code: 'RECIPE_INVALID',
      message: expect.stringMatching(/^recipe:2:/),
    });
    await expect(readRecipe(`{method: soup, models: [${'x'.repeat(1e6)}]}`)).rejects.toMatchObject({
      code: 'RECIPE_INVALID',
      message: expect.stringContaining('longer than a megabyte'),
    });
  });
});

describe('a file of several recipes', () => {
  it('gives the one without a name, with those it names in the place of models', async () => {
    expect((await read(documents)).recipe).toEqual({
      method: 'layer_swap',
      task: { method: 'soup', models: ['org/three', 'org/four'] },
      language: {
        method: 'linear',
        dialect: 'mergekit',
        models: [{ model: 'org/one' }, { model: 'org/two' }],
      },
    });
  });

  it('gives the one that no other uses where all have names', async () => {
    const text = yaml`
      name: all
      merge_method: ties
      base_model: first
      models: [{model: first}, {model: {model: {path: second}}}]
      tokenizer_source: org/one
      ---
      {name: first, method: soup, models: [org/one, second]}
      ---
      {name: second, method: soup, models: [org/two]}
    `;
    const { recipe } = await read(text);
    const second = { method: 'soup', models: ['org/two'] };
    const first = { method: 'soup', models: ['org/one', second] };
    expect(recipe).toMatchObject({
      method: 'ties',
      base: first,
      models: [{ model: first }, { model: second }],
    });
    // The same object, so the same merge.
    expect(recipe['base']).toBe((recipe['models'] as { model: unknown }[])[0]?.model);
  });

  it.each<[string, string | Files, string]>([
    [
      'two results',
      '{name: a, method: soup, models: [x]}\n---\n{name: b, method: soup, models: [x]}\n',
      'merge.yaml:3:1: no other document uses a or b; expected one of them without a name: the result',
    ],
    [
      'two documents without a name',
      'method: soup\nmodels: [x]\n---\nmethod: soup\nmodels: [x]\n',
      'merge.yaml:4:1: a second document without a name; expected documents that their name: tells apart\n  method: soup\n  ^',
    ],
    [
      'one name twice',
      '{name: a, method: soup, models: [x]}\n---\n{name: a, method: soup, models: [x]}\n',
      'merge.yaml:3:1: a: a second document of this name; expected',
    ],
    [
      'a name that is no text',
      'name: [a]\nmethod: soup\n',
      'merge.yaml:1:7: name: no name; expected text\n  name: [a]\n        ^',
    ],
    [
      'documents that use each other',
      'name: a\nmethod: soup\nmodels: [x, b]\n---\nname: b\nmerge_method: linear\nmodels:\n  - model: a\n',
      'merge.yaml:8:12: a: recipes use each other in a circle: a → b → a\n    - model: a\n             ^',
    ],
    [
      'a document that uses itself',
      'name: a\nmethod: soup\nmodels: [a]\n',
      'merge.yaml:3:10: a: recipes use each other in a circle: a → a',
    ],
    [
      'an adapter on a document, beside which a folder of its name may stand',
      'name: a\nmethod: soup\nmodels: [x]\n---\nmethod: soup\nmodels: [a+lora]\n',
      'merge.yaml:6:10: a+lora: a is a recipe of this file, which takes no adapter; expected the output of a, merged in a step of its own\n',
    ],
    [
      "an adapter on a document, as mergekit's mapping",
      'name: a\nmethod: soup\nmodels: [x]\n---\nmerge_method: linear\nmodels:\n  - model: {model: {path: a}, lora: {path: b}}\n',
      'merge.yaml:7:20: a+b: a is a recipe of this file',
    ],
    [
      'files that use each other',
      {
        'merge.yaml': 'method: soup\nmodels: [sub/b.yaml]\n',
        'sub/b.yaml': 'method: soup\nmodels:\n  - ../merge.yaml\n',
      },
      'sub/b.yaml:3:5: merge.yaml: recipes use each other in a circle: merge.yaml → sub/b.yaml → merge.yaml\n    - ../merge.yaml\n      ^',
    ],
    [
      'a file that is not there',
      'method: soup\nmodels:\n  - a.yml\n',
      'merge.yaml:3:5: a.yml: no such file\n    - a.yml\n      ^',
    ],
    [
      'a mistake in another file',
      { 'merge.yaml': 'method: soup\nmodels: [b.yaml]\n', 'b.yaml': 'method: soup\nmodels: {}\n' },
      'b.yaml:2:9: models: not a list; expected a list of models\n  models: {}\n          ^',
    ],
    [
      'documents that double at each step',
      [
        '{name: d0, method: soup, models: [x]}',
        ...Array.from({ length: 20 }, (_, i) => `{name: d${i + 1}, method: soup, models: [d${i}, d${i}]}`),
      ].join('\n---\n'),
      'merge.yaml:17:39: the recipe comes to more than 1000 merges',
    ],
  ])('with %s is refused, at its place', async (_, given, message) => {
    expect(await refusal(given)).toContain(message);
  });
});

describe('a recipe in a file of its own', () => {
  it('stands for a model, its paths beginning in its own folder', async () => {
    const { recipe, folder } = await read({
      'merge.yaml': 'method: layer_swap\ntask: math/soup.yaml\nlanguage: ./swahili\n',
      'math/soup.yaml': 'method: soup\nmodels: [./one, other.yml]\n',
      'math/other.yml': 'merge_method: linear\nmodels: [{model: ./where-it-runs}]\n',
    });
    expect(recipe).toEqual({
      method: 'layer_swap',
      task: {
        method: 'soup',
        models: [
          join(folder, 'math/one'),
          { method: 'linear', dialect: 'mergekit', models: [{ model: './where-it-runs' }] },
        ],
      },
      language: join(folder, 'swahili'),
    });
  });

  it.each<[string, (folder: string) => string, RegExp]>([
    ['missing', (folder) => join(folder, 'no.yaml'), /no\.yaml: no such file/],
    ['a folder', (folder) => folder, /: is a directory; expected the file of a recipe$/],
    ['binary', (folder) => join(folder, 'binary'), /binary: cannot be read: it is not text in UTF-8$/],
    [
      'large',
      (folder) => join(folder, 'large'),
      /large: cannot be read: it has 1000001 bytes, and a recipe at most 1000000$/,
    ],
  ])('that is %s is refused', async (_, path, message) => {
    const folder = writeFiles({ large: ' '.repeat(1_000_001) });
    writeFileSync(join(folder, 'binary'), Buffer.from([0xff, 0xfe, 0, 1]));
    await expect(readRecipe(path(folder))).rejects.toMatchObject({
      code: 'RECIPE_INVALID',
      exitCode: 2,
      message: expect.stringMatching(message),
    });
  });
});

describe('a place in a recipe', () => {
  const files = {
    'merge.yaml': yaml`
      merge_method: ties
      base_model: org/base
      models:
        - model: org/one
          parameters:
            density: 0.5
        - model:
            method: linear
            slices:
              - sources:
                  - {model: org/two, layer_range: [0, 4], weight: 1}
      parameters:
        int8_mask: 7
      tokenizer: {source: org/base}
    `,
  };
  const at = async (given: string | Files, path: Path, part?: 'key' | 'value') => {
    const { locate, folder } = await read(given);
    const { file, line, column } = locate(path, part);
    return `${file.replace(`${folder}/`, '')}:${line}:${column}`;
  };

  it.each<[Path, string, string]>([
    [['method'], '1:15', '1:1'],
    [['dialect'], '1:1', '1:1'],
    [['base'], '2:13', '2:1'],
    [['models'], '4:3', '3:1'],
    [['models', 0], '4:5', '4:5'],
    [['models', 0, 'density'], '6:16', '6:7'],
    [['models', 0, 'weight'], '4:5', '4:5'],
    [['models', 1, 'model', 'slices', 0, 'sources', 0, 'layerRange'], '11:45', '11:32'],
    [['models', 1, 'model', 'slices', 0, 'sources', 0, 'layerRange', 1], '11:49', '11:49'],
    [['int8Mask'], '13:14', '13:3'],
    [['tokenizerSource'], '14:21', '14:13'],
    [['lambda'], '1:1', '1:1'],
  ])('is found by a path into what was read: %j', async (path, value, key) => {
    expect(await at(files, path)).toBe(`merge.yaml:${value}`);
    expect(await at(files, path, 'key')).toBe(`merge.yaml:${key}`);
  });

  it('is in the document or the file that says it', async () => {
    expect(await at(documents, ['task', 'models', 1])).toBe('merge.yaml:11:21');
    expect(await at(documents, ['task'], 'key')).toBe('merge.yaml:6:1');
    expect(await at(documents, ['language', 'method'])).toBe('merge.yaml:2:15');
    const two = {
      'merge.yaml': 'method: soup\nmodels:\n  - sub/b.yaml\n',
      'sub/b.yaml': '# b\nmethod: soup\nweights: [1]\n',
    };
    expect(await at(two, ['models', 0, 'weights', 0])).toBe('sub/b.yaml:3:11');
    expect(await at(two, ['models', 0, 'bottom'])).toBe('sub/b.yaml:2:1');
  });

  it('is told with what a later step finds wrong', async () => {
    const { folder, ...recipe } = await read(files);
    const wrong = { parameter: 'density', value: 0.5, expected: 'more' };
    const recipePath = ['models', 0, 'density'];
    const context = { context: { recipePath } };
    const placed = withPlace(new LayerloomError('INVALID_PARAMETER', wrong, context), recipe);
    const file = join(folder, 'merge.yaml');
    expect(placed).toBeInstanceOf(LayerloomError);
    expect(placed.message).toBe(
      `${file}:6:16: density: expected more, got 0.5\n        density: 0.5\n                 ^`,
    );
    expect(placed).toMatchObject({
      code: 'INVALID_PARAMETER',
      exitCode: 2,
      details: { ...wrong, path: recipePath, file, line: 6, column: 16 },
    });
    const unknown = new LayerloomError('USAGE', { reason: 'no parameter density' }, context);
    expect(withPlace(unknown, recipe).message).toContain('merge.yaml:6:7: no parameter density\n');
  });

  it('is not made up for an error that has none', async () => {
    const error = new LayerloomError('USAGE', { reason: 'no' });
    expect(withPlace(error, await read(files))).toBe(error);
  });
});

const { recipe: recipes } = fc.letrec((tie) => {
  const wrong = fc.constantFrom<unknown>('merge.yaml', '*', -1, true, null, '', [], {}, [[1]], {
    value: 1,
    vlaue: 1,
  });
  const mostly = (right: fc.Arbitrary<unknown>) =>
    fc.oneof({ weight: 99, arbitrary: right }, { weight: 1, arbitrary: wrong });
  const path = fc.constantFrom('a', 'b', './x', 'org/name', 'NAME=./y', 'org/name@main');
  const model = mostly(
    fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      { weight: 5, arbitrary: path },
      { weight: 1, arbitrary: tie('inPlace') },
    ),
  );
  const value = fc.oneof(fc.double({ noNaN: true }), fc.array(fc.integer(), { minLength: 1, maxLength: 3 }));
  const conditional = fc.record({ filter: fc.constantFrom('mlp', '*'), value }, { requiredKeys: ['value'] });
  const setting = mostly(fc.oneof(value, conditional, fc.array(conditional, { minLength: 1, maxLength: 3 })));
  const parameters = mostly(
    fc.dictionary(fc.constantFrom('t', 'weight', 'int8_mask'), setting, { maxKeys: 3 }),
  );
  const list = (item: fc.Arbitrary<unknown>) => mostly(fc.array(item, { minLength: 1, maxLength: 3 }));
  const entry = fc.record({ model, parameters }, { requiredKeys: ['model'] });
  const source = fc.record(
    { model, layer_range: mostly(fc.constant([0, 4])), parameters },
    { requiredKeys: ['model', 'layer_range'] },
  );
  const slice = fc.record({ sources: list(source), parameters }, { requiredKeys: ['sources'] });
  const common = { parameters, tokenizer_source: path, dtype: fc.constant('float16') };
  const theirs = { merge_method: mostly(fc.constant('linear')), base_model: model, ...common };
  const ours = { method: mostly(fc.constant('soup')), base: model, bottom_transition: value, ...common };
  const ask = (...keys: string[]) => ({ requiredKeys: keys as never[] });
  const inPlace = fc.oneof(
    fc.record({ ...theirs, models: list(entry) }, ask('merge_method', 'models')),
    fc.record({ ...theirs, slices: list(slice) }, ask('merge_method', 'slices')),
    fc.record({ ...ours, models: list(fc.oneof(model, entry)) }, ask('method', 'models')),
    fc.record({ ...ours, slices: list(slice) }, ask('method', 'slices')),
    fc.record({ ...ours, task: model, language: model }, ask('method', 'task')),
  );
  return { inPlace, recipe: inPlace };
});

describe('whatever a file holds', () => {
  it('is a recipe with a method, or refused with the place', async () => {
    const folder = writeFiles({});
    const file = join(folder, 'merge.yaml');
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(fc.constantFrom('a', 'b'), { maxLength: 2 }),
        recipes,
        recipes,
        async (names, ...all) => {
          const documents = [...names, undefined].map((name, i) =>
            name === undefined ? all[0] : { name, ...(all[i] ?? {}) },
          );
          writeFileSync(file, documents.map((each) => stringify(each)).join('---\n'));
          const read = await readRecipe(file).catch((error: unknown) => error);
          if (read instanceof LayerloomError) {
            expect(read.code).toBe('RECIPE_INVALID');
            expect(read.message.slice(file.length)).toMatch(/^:\d+:\d+: [^\n]+\n.*\n *\^$/);
          } else expect(read).toMatchObject({ recipe: { method: expect.any(String) } });
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe('the tokenizer of a stage', () => {
  it.each(['base_model', 'model'])('is that of the recipe in its place (as %s)', async (role) => {
    const stage =
      'name: stage\nmerge_method: linear\nmodels: [{model: x}, {model: y}]\nparameters: {weight: 1}\n';
    const models = role === 'model' ? '[{model: z}, {model: stage}]' : '[{model: z}]';
    const base = role === 'model' ? 'org/base' : 'stage';
    const { recipe } = await read(
      `${stage}---\nmerge_method: task_arithmetic\nbase_model: ${base}\nmodels: ${models}\nparameters: {weight: 1}\ntokenizer_source: stage\n`,
    );
    const { tokenizer, models: references } = parseRecipe(recipe);
    expect(references[tokenizer.source as number]?.model).toMatchObject({ method: 'linear' });
  });
});
