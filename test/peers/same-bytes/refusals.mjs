// @ts-check
// Refused operations: error texts are compared to the letter.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * @param {typeof import('../../../src/index.js')} layerloom @param {import('./checkpoints.mjs').Models} models @param {string} root
 * @returns {Record<string, (out: string) => Promise<unknown>>}
 */
export const refusalsOf = ({ merge, analyze, runExperiment, openCheckpoint }, { base, a, b, c }, root) => {
  const written = (/** @type {string} */ name, /** @type {string} */ text) => {
    writeFileSync(join(root, name), text);
    return join(root, name);
  };
  /**
   * A merge from an object, which may be invalid.
   * @param {Record<string, unknown>} recipe
   * @param {Record<string, unknown>} [options]
   * @returns {(out: string) => Promise<unknown>}
   */
  const object = (recipe, options) => (out) =>
    merge(/** @type {import('../../../src/index.js').RecipeInput} */ (/** @type {unknown} */ (recipe)), {
      out,
      ...options,
    });
  const file = (/** @type {string} */ name, /** @type {string} */ text) => (/** @type {string} */ out) =>
    merge(written(name, text), { out });
  const experiment = (/** @type {string} */ merges) => (/** @type {string} */ out) =>
    runExperiment(
      written(
        'experiment.yaml',
        `base: ${base}\ntasks: {one: ${a}}\nlanguages:\n  two: {three: ${b}}\nmerges:\n${merges}\n`,
      ),
      { out },
    );
  return {
    'unknown method': object({ method: 'tise', models: [a, b] }),
    'misspelt parameter': object({ method: 'ties', base, models: [a, b], weight: 1, densty: 0.5 }),
    'missing weight': object({ method: 'ties', base, models: [a, b] }),
    'missing weight of a nested recipe': object({
      method: 'soup',
      models: [a, { method: 'ties', base, models: [a, b] }],
    }),
    'bad density': object({ method: 'ties', base, models: [{ model: a, weight: 1, density: 2 }, b] }),
    'bad epsilon': object({ method: 'della', base, models: [a, b], weight: 1, density: 0.9, epsilon: 0.3 }),
    'bad dtype': object({ method: 'soup', models: [a, b], dtype: 'bf61' }),
    'bad layout': object({ method: 'soup', models: [a, b] }, { layout: 'both' }),
    'bad shard size': object({ method: 'soup', models: [a, b] }, { maxShardSize: 'large' }),
    'no such model': object({ method: 'soup', models: [a, './no-such-directory'] }),
    'no such hub model': object({ method: 'soup', models: [a, 'no-such/model@main'] }),
    adapter: object({ method: 'soup', models: [a, `${b}+adapter`] }),
    'equal names': object({ method: 'layer_swap', task: `x=${a}`, language: `x=${b}` }),
    'too many layers': object({ method: 'layer_swap', task: a, language: b, bottom: 6, top: 6 }),
    'output inside an input': (_out) => merge({ method: 'soup', models: [a, b] }, { out: join(a, 'merged') }),
    'filter that matches nothing': object(
      {
        method: 'linear',
        models: [{ model: a, weight: [{ filter: 'nowhere', value: 2 }, { value: 1 }] }, b],
        weight: 1,
      },
      { strict: true },
    ),
    'unknown key in a file': file('key.yaml', `method: soup\nmodels:\n  - ${a}\nwieghts: [1]\n`),
    'bad value in a file': file(
      'value.yaml',
      `method: ties\nbase: ${base}\nmodels:\n  - {model: ${a}, weight: 1, density: 7}\n`,
    ),
    'no such model in a file': file('model.yaml', `method: soup\nmodels:\n  - ${a}\n  - ./nowhere\n`),
    'bad nested recipe in a file': file(
      'nested.yaml',
      `method: soup\nmodels:\n  - ${a}\n  - method: slerp\n    base: ${b}\n    models: [${c}]\n    t: much\n`,
    ),
    'weights that cancel in a file': file(
      'cancel.yaml',
      `method: linear\nmodels:\n  - {model: ${a}, weight: 1}\n  - {model: ${b}, weight: -1}\n`,
    ),
    'broken YAML': file('broken.yaml', 'method: [soup\n'),
    'unknown key of mergekit': file(
      'mergekit.yaml',
      `merge_method: ties\nbase_modle: ${base}\nmodels: [{model: ${a}}]\n`,
    ),
    'too many layers in a file': file(
      'layers.yaml',
      `method: layer_swap\ntask: ${a}\nlanguage: ${b}\nbottom: 40\n`,
    ),
    'no such checkpoint': () => openCheckpoint(join(root, 'nothing')),
    'no checkpoint': () => openCheckpoint(root),
    'no base': (out) => analyze({ experts: [a] }, { out }),
    'bad threshold': (out) => analyze({ base, experts: [a], threshold: -1 }, { out }),
    'experiment with a bad density': experiment('  - {name: ties, method: ties, density: [0.5, 3]}'),
    'experiment with an unknown key': experiment('  - {name: swap, method: layer_swap, botom: 2}'),
    'experiment with too many layers': experiment(
      '  - {name: swap, method: layer_swap, layers: [[2, 1], [9, 9]]}',
    ),
    'experiment with a filter': experiment(
      '  - {name: ties, method: ties, weight: 1, density: [[{filter: nowhere, value: 1}]]}',
    ),
  };
};
