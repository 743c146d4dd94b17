// @ts-check
// Ten merges of every method, each by another path through recipes, plans and the engine.
import { relayouts, reverts, soups, swaps } from './merges-of-models.mjs';

/** @typedef {import('./checkpoints.mjs').Models} Models */
/** @typedef {Record<string, unknown>} Recipe */
/** @typedef {{ recipe: Recipe, file?: boolean, options?: Record<string, unknown> }} Merge */
/** @typedef {{ shared?: Recipe, perModel?: Recipe }} Parameters */

/**
 * A method's recipes: its number of models beside the base, whether it takes one, and parameters of ten
 * merges.
 *
 * @typedef {{ method: string, base?: boolean, models: number, merges: readonly Parameters[] }} Family
 */

/** @param {number} count @param {(index: number) => Parameters} make */
const times = (count, make) => Array.from({ length: count }, (_, index) => make(index));

const weights = [1, 0.5, 0.25, [0.2, 1.1], -0.4, 0.7, 2, [1, 0, 1], 0.3, 1.5];
const densities = [1, 0.5, 0.2, [0.1, 0.9], 0.33, 0.05, 0.9, 0.7, 0.999, 0.4];

/** Values by filters, as recipes have them. @param {unknown} one @param {unknown} other */
const filtered = (one, other) => [{ filter: 'mlp', value: one }, { value: other }];

/** @param {string} method @param {(index: number) => Recipe} own @param {(index: number) => Recipe} [shared] @returns {Family} */
const taskVectors = (method, own, shared = () => ({})) => ({
  method,
  base: true,
  models: 3,
  merges: times(10, (index) => ({
    perModel: { weight: weights[index], ...own(index) },
    shared: {
      ...(index % 3 === 1 ? { lambda: 0.6 } : {}),
      ...(index % 4 === 2 ? { normalize: index % 8 === 2 } : {}),
      ...shared(index),
    },
  })),
});

const density = (/** @type {number} */ index) => ({ density: densities[index] });
const rescales = [undefined, true, 'norm', 'density', false];
const rescaled = (/** @type {number} */ index) =>
  rescales[index % 5] === undefined ? {} : { rescale: rescales[index % 5] };
const seeded = (/** @type {number} */ index) => ({ seed: index * 7, ...rescaled(index) });
const spread = (/** @type {number} */ index) => ({
  density: [0.5, 0.4, [0.3, 0.6], 0.7, 0.5, 0.2, 0.8, 0.5, 0.6, 0.45][index],
  epsilon: [0.15, 0.3, 0.1, 0.2, 0, 0.05, 0.19, 0.4, 0.01, 0.25][index],
});

/** @type {readonly Family[]} */
const families = [
  {
    method: 'linear',
    models: 3,
    merges: times(10, (index) => ({
      perModel: { weight: weights[index] },
      shared: index % 4 === 3 ? { normalize: false } : {},
    })),
  },
  {
    method: 'passthrough',
    models: 1,
    merges: times(10, (index) => ({
      perModel: [{}, { scale: 0.3 }, { scale: filtered(2, 1) }, { scale: [0, 1] }, { scale: -1.5 }][
        index % 5
      ] ?? { scale: 1 },
    })),
  },
  {
    method: 'slerp',
    base: true,
    models: 1,
    merges: times(10, (index) => ({
      shared: { t: [0.5, 0, 1, [0.1, 0.8], filtered(0.2, 0.7), 0.3, [0, 1, 0.5], 0.9, 1e-3, 0.25][index] },
    })),
  },
  {
    method: 'nuslerp',
    models: 2,
    merges: times(10, (index) => ({
      perModel: { weight: [1, 0.5, [0.2, 0.8], 3, 0.1][index % 5] },
      shared: {
        ...(index % 3 === 0 ? {} : { nuslerpFlatten: false }),
        ...(index % 3 === 2 ? { nuslerpRowWise: true } : {}),
      },
    })),
  },
  {
    method: 'multislerp',
    models: 3,
    merges: times(10, (index) => ({
      perModel: { weight: [1, 0.5, [0.2, 0.8], 3, 0.1][index % 5] },
      shared: { ...(index % 4 === 3 ? { normalizeWeights: false } : {}), eps: index % 2 ? 1e-8 : 1e-6 },
    })),
  },
  {
    method: 'karcher',
    models: 3,
    merges: times(10, (index) => ({ shared: { maxIter: index * 3, tol: 10 ** -(index + 2) } })),
  },
  {
    method: 'model_stock',
    base: true,
    models: 3,
    merges: times(10, (index) => ({ shared: index % 2 ? { filterWise: true } : {} })),
  },
  taskVectors('task_arithmetic', () => ({})),
  taskVectors('ties', density, (index) => (index % 2 ? rescaled(index) : {})),
  taskVectors('dare_linear', density, seeded),
  taskVectors('dare_ties', density, seeded),
  taskVectors('della_linear', spread, seeded),
  taskVectors('della', spread, seeded),
  ...['breadcrumbs', 'breadcrumbs_ties'].map((method) =>
    taskVectors(
      method,
      (index) => ({ density: densities[index], gamma: [0.01, 0.1, 0, 0.05, 0.3][index % 5] }),
      rescaled,
    ),
  ),
  {
    method: 'sce',
    base: true,
    models: 3,
    merges: times(10, (index) => ({
      shared: { selectTopk: [1, 0.5, 0.1, [0.2, 0.9], 0.01, 0.75, 0.3, 0.999, 0.05, 0.6][index] },
    })),
  },
  {
    method: 'nearswap',
    base: true,
    models: 1,
    merges: times(10, (index) => ({
      shared: {
        t: [0.002, 0.01, 0, [0.001, 0.02], 1e-5, filtered(0.1, 0.001), 0.004, 0.5, 0.0039, 1][index],
      },
    })),
  },
  { method: 'arcee_fusion', base: true, models: 1, merges: times(10, () => ({})) },
  ...['ram', 'ramplus_tl'].map((method) => ({
    method,
    base: true,
    models: 3,
    merges: times(10, (index) => ({
      shared: {
        epsilon: [1e-5, 0, 0.001, [1e-4, 0.01], filtered(0.002, 0), 1e-3, 0.02, 1e-6, 0.004, 0.1][index],
        ...(method === 'ram'
          ? {}
          : { r: [0.1, 0.5, -0.2, 1, 0][index % 5], alpha: [0.2, 1, 0.05][index % 3] }),
      },
    })),
  })),
];

/** Names in mergekit's spelling. @param {Recipe} parameters @returns {Recipe} */
const inSnakeCase = (parameters) =>
  Object.fromEntries(
    Object.entries(parameters).map(([name, value]) => [
      name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      value,
    ]),
  );

/**
 * A merge of a family in one of ten forms: plain, by size, converted, over a nested recipe, by slices, over
 * mixed dtypes, in mergekit's dialect, and so on.
 *
 * @param {Family} family @param {number} index @param {Models} models @param {'BF16' | 'F32'} dtype
 * @param {Parameters} [parameters] @returns {Merge}
 */
const mergeOf = ({ method, base: takesBase, models: count, merges }, index, models, dtype, parameters) => {
  const { shared = {}, perModel = {} } = parameters ?? merges[index] ?? {};
  const { base, a, b, c, half } = models;
  const based = takesBase ? { base } : {};
  const experts = [a, b, c].slice(0, count);
  const entries = (/** @type {readonly unknown[]} */ of) =>
    of.map((model, position) =>
      Object.keys(perModel).length === 0 || position === 1 ? { ...perModel, model } : { model, ...perModel },
    );
  const plain = { method, ...based, models: entries(experts), ...shared };
  const other = dtype === 'BF16' ? 'float32' : 'bfloat16';
  const optional = ['nuslerp', 'multislerp'].includes(method) ? { base } : based;
  switch (index) {
    case 1:
      return { recipe: plain, options: { layout: 'size', maxShardSize: 90_000, threads: 2 } };
    case 2:
      return { recipe: { ...plain, dtype: other } };
    case 3: {
      const inner = {
        method: 'linear',
        models: [
          { model: b, weight: 0.3 },
          { model: c, weight: 0.9 },
        ],
      };
      return { recipe: { ...plain, models: entries([...experts.slice(0, -1), inner]) } };
    }
    case 4: {
      const slice = (/** @type {[number, number]} */ layerRange) => ({
        sources: entries(experts).map((entry) => ({ ...entry, layerRange })),
      });
      return {
        recipe: { method, ...based, slices: [slice([2, 6]), slice([0, 3]), slice([6, 7])], ...shared },
      };
    }
    case 5:
      return { recipe: { ...plain, models: entries([...experts.slice(0, -1), half]) } };
    case 6:
      return {
        file: true,
        recipe: {
          merge_method: method,
          ...(takesBase ? { base_model: base } : {}),
          models: [
            ...(method === 'slerp' ? [{ model: base }] : []),
            ...experts.map((model) => ({ model, parameters: inSnakeCase(perModel) })),
          ],
          parameters: inSnakeCase(shared),
          out_dtype: 'float16',
        },
        options: { layout: 'size' },
      };
    case 7:
      return { recipe: { ...plain, ...optional, tokenizerSource: 'union' }, options: { checksums: true } };
    case 8: {
      const inner = {
        method: 'ties',
        base,
        models: [
          { model: a, weight: 1, density: 0.5 },
          { model: b, weight: 0.4, density: 0.3 },
        ],
        dtype: 'float32',
      };
      const nested = takesBase
        ? { ...plain, base: inner }
        : { ...plain, models: entries([inner, ...experts.slice(1)]) };
      return {
        recipe: { ...nested, dtype: dtype === 'BF16' ? 'bfloat16' : 'float16' },
        options: { layout: 'size', maxShardSize: '200KB' },
      };
    }
    case 9:
      return { recipe: { ...plain, ...optional, dtype: 'float8_e4m3fn' }, options: { dtype: 'float16' } };
    default:
      return { recipe: plain };
  }
};

/** Further merges of a method: TIES' dialects. @param {Models} models @returns {Merge[]} */
const dialects = ({ base, a, b, c }) => [
  { recipe: { method: 'ties', base, models: [a, b, c], weight: 1, density: 0.2, dialect: 'paper' } },
  {
    recipe: {
      method: 'ties',
      base,
      models: [a, b],
      weight: 1,
      density: 0.6,
      dialect: 'paper',
      dtype: 'float32',
    },
  },
  { recipe: { method: 'ties', base, models: [a, b, c], weight: 0.5, density: 0.4, dialect: 'peft' } },
  {
    recipe: {
      method: 'ties',
      base,
      models: [a, b, c],
      weights: [1, 2, 0],
      density: 0.001,
      dialect: 'peft',
      rescale: 'norm',
    },
  },
];

/** Ten merges of each method, and four of TIES' dialects. @param {Models} models @param {'BF16' | 'F32'} dtype @returns {Map<string, Merge[]>} */
export const mergesOf = (models, dtype) =>
  new Map([
    ...families.map((family) => {
      const ten = Array.from({ length: 10 }, (_, index) => mergeOf(family, index, models, dtype));
      return /** @type {const} */ ([
        family.method,
        family.method === 'ties' ? [...ten, ...dialects(models)] : ten,
      ]);
    }),
    ['layer_swap', swaps(models, dtype)],
    ['soup', soups(models, dtype)],
    ['revert', reverts(models, dtype)],
    ['relayout', relayouts(models, dtype)],
  ]);

/**
 * A merge of each method that computes, over tensors cut into slices and blocks. @param {{ base: string, a:
 * string, b: string }} models @returns {Map<string, Merge>}
 */
export const largeMergesOf = ({ base, a, b }) => {
  const models = { base, a, b, c: b, half: a, layered: a };
  /** @type {[string, Merge][]} */
  const ofFamilies = families.map((family) => {
    const two = { ...family, models: Math.min(family.models, 2) };
    return [family.method, { ...mergeOf(two, 0, models, 'BF16', family.merges[9]), options: { threads: 2 } }];
  });
  return new Map([
    ...ofFamilies,
    ['revert', { recipe: { method: 'revert', base, model: a, targetKept: 0.5 } }],
    [
      'layer_swap',
      {
        recipe: { method: 'layer_swap', base, task: a, language: b, bottom: 1, top: 0, weights: 'magnitude' },
      },
    ],
    [
      'ties paper',
      { recipe: { method: 'ties', base, models: [a, b], weight: 1, density: 0.2, dialect: 'paper' } },
    ],
  ]);
};
