import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { writers } from '../scripts/python-parameters.mjs';
import { pythonFunctions } from '../src/cli/options/spellings.js';
import { methods } from '../src/core/methods/index.js';
import { toSnakeCase } from '../src/core/methods/recipe/document/case.js';
import { readRecipe } from '../src/core/methods/recipe/read-recipe.js';
import { parseRecipe } from '../src/core/methods/recipe/recipe.js';
import { expandExperiment } from '../src/study/experiment/file/expand.js';
import { readExperiment } from '../src/study/experiment/file/read-experiment.js';
import { experimentPreset, presetNames } from '../src/study/paper/experiment.js';
import { temporaryDirectory } from './fixtures/checkpoints.js';

const read = (file: string) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');

const page = read('docs/methods.md');

const isExpert = (name: string | null): boolean => name !== null && !name.endsWith('soup');

const blocks = (language: string) =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 'gs'))].map(([, text = '']) => text);

it.each(blocks('yaml'))('recipe %# of docs/methods.md is one', async (text) => {
  const root = temporaryDirectory();
  writeFileSync(join(root, 'swahili.yaml'), 'method: soup\nmodels: [./swh-1, ./swh-2]\n');
  writeFileSync(join(root, 'merge.yaml'), text);
  const { recipe } = await readRecipe(join(root, 'merge.yaml'));
  expect(parseRecipe(recipe).models.length).toBeGreaterThan(0);
});

it('the method of docs/methods.md is that of the example, which is tested', () => {
  const method = blocks('ts').find((text) => text.includes('tensorMethod(')) ?? '';
  const [, body = ''] = method.split('\n\n');
  expect(read('examples/custom-method/methods.ts')).toContain(body);
});

it('docs/methods.md has every method, and every parameter of those that it describes', () => {
  const common = ['base', 'models', 'slices', 'weights', 'dialect'];
  for (const [name, { schema }] of methods) {
    expect(page).toContain(`\`${name}\``);
    if (['layer_swap', 'revert', 'relayout'].includes(name)) continue;
    for (const parameter of Object.keys(schema.shape))
      if (!common.includes(parameter)) expect(page).toContain(`\`${toSnakeCase(parameter)}\``);
  }
});

it('docs/python.md has every function, and those whose result may be in memory', () => {
  const rows = [...read('docs/python.md').matchAll(/^\| (`\w+`.*?) \| (?:the same|`layerloom batch)/gm)];
  const named = rows.map(([, cell = '']) => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name));
  expect(named.flat()).toEqual(expect.arrayContaining(Object.values(pythonFunctions)));
  expect(named[0]).toEqual(writers.map((command) => pythonFunctions[command]));
});

it.each(presetNames)('docs/experiments.md has the preset %s, with its numbers of merges', async (preset) => {
  const file = join(temporaryDirectory(), 'experiment.yaml');
  writeFileSync(file, experimentPreset(preset));
  const merges = expandExperiment(await readExperiment(file));
  const [, ofPair = '', all] =
    new RegExp(`^\\| \`${preset}\` \\| ([^|]*) \\|.*\\| (\\d+) \\|`, 'm').exec(read('docs/experiments.md')) ??
    [];
  expect(Number(all)).toBe(merges.length);
  const [first] = merges.filter(({ task, languageExpert }) => isExpert(task) && isExpert(languageExpert));
  const number = merges.filter(
    ({ task, languageExpert }) => task === first?.task && languageExpert === first?.languageExpert,
  ).length;
  expect(ofPair).toMatch(first === undefined ? /^(none)?$/ : new RegExp(`^${number}\\b`));
});
