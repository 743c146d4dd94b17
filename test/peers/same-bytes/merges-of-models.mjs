// @ts-check
// Ten merges of each method on whole models: swaps, soups, reverts, relayouts.

/** @typedef {import('./checkpoints.mjs').Models} Models */
/** @typedef {import('./merges.mjs').Merge} Merge */

/** @param {Models} models @param {'BF16' | 'F32'} dtype @returns {Merge[]} */
export const swaps = ({ base, a, b, c, half, layered }, dtype) => {
  const pair = { method: 'layer_swap', task: a, language: b };
  const other = dtype === 'BF16' ? 'float32' : 'bfloat16';
  const counts = { bottom: 2, top: 1 };
  return [
    { recipe: pair },
    { recipe: { ...pair, ...counts }, options: { layout: 'size', maxShardSize: '100KB' } },
    { recipe: { ...pair, ...counts, bottomTransition: 1, topTransition: 2, weights: [3, 1] } },
    { recipe: { ...pair, ...counts, base, weights: 'magnitude' }, options: { checksums: true } },
    { recipe: { ...pair, ...counts, others: 'task' }, options: { threads: 2 } },
    { recipe: { ...pair, ...counts, others: 'lang', norms: 'average' } },
    { recipe: { ...pair, scaled: true, dtype: other } },
    { recipe: { ...pair, task: layered, ...counts, others: 'task' }, options: { link: 'copy' } },
    { recipe: { ...pair, language: half, ...counts, bottomTransition: 2 } },
    {
      recipe: {
        ...pair,
        language: { method: 'soup', models: [b, c], weights: [1, 2] },
        ...counts,
        topTransition: 1,
      },
    },
  ];
};

/** @param {Models} models @param {'BF16' | 'F32'} dtype @returns {Merge[]} */
export const soups = ({ base, a, b, c, half }, dtype) => {
  const other = dtype === 'BF16' ? 'float32' : 'bfloat16';
  const nested = { method: 'dare_ties', base, models: [a, b], weight: 1, density: 0.5, seed: 3 };
  return [
    { recipe: { method: 'soup', models: [a] } },
    { recipe: { method: 'soup', models: [a, b] } },
    { recipe: { method: 'soup', models: [a, b, c], weights: [1, 2, 3] }, options: { layout: 'size' } },
    { recipe: { method: 'soup', base, models: [a, b, c], weights: 'magnitude' } },
    { recipe: { method: 'soup', models: [a, half] } },
    { recipe: { method: 'soup', models: [half, a, b] }, options: { threads: 2 } },
    { recipe: { method: 'soup', models: [a, b], weights: [1, -0.3], dtype: other } },
    { recipe: { method: 'soup', models: [nested, c] } },
    { recipe: { method: 'soup', base, models: [nested, c], weights: 'magnitude' } },
    { recipe: { method: 'soup', models: [a, b, c], dtype: 'float8_e5m2' }, options: { checksums: true } },
  ];
};

/** @param {Models} models @param {'BF16' | 'F32'} dtype @returns {Merge[]} */
export const reverts = ({ base, a, b, layered, half }, dtype) => {
  const other = dtype === 'BF16' ? 'float32' : 'bfloat16';
  const one = { method: 'revert', base, model: a };
  return [
    { recipe: one },
    { recipe: { ...one, bottom: 3, top: 0, others: 'revert' }, options: { layout: 'size' } },
    { recipe: { ...one, model: layered, bottom: 1, top: 1, norms: 'average' } },
    { recipe: { ...one, threshold: 0.002 } },
    { recipe: { ...one, threshold: 0.004, rows: 'output' }, options: { checksums: true } },
    { recipe: { ...one, targetKept: 0.6 } },
    { recipe: { ...one, targetKept: 0.3, rows: 'output' }, options: { threads: 2 } },
    { recipe: { ...one, model: half, bottom: 1, top: 1, others: 'revert', dtype: other } },
    { recipe: { ...one, model: { method: 'soup', models: [a, b] }, bottom: 2, top: 3 } },
    { recipe: { ...one, model: { method: 'revert', base, model: b, threshold: 0.003 }, bottom: 1, top: 1 } },
  ];
};

/** @param {Models} models @param {'BF16' | 'F32'} dtype @returns {Merge[]} */
export const relayouts = ({ a, b, half, layered }, dtype) => {
  const other = dtype === 'BF16' ? 'float32' : 'bfloat16';
  const one = { method: 'relayout', model: a };
  return [
    { recipe: one },
    { recipe: one, options: { layout: 'size' } },
    { recipe: one, options: { layout: 'size', maxShardSize: '70KB' } },
    { recipe: { ...one, model: b }, options: { checksums: true } },
    { recipe: { ...one, model: b }, options: { layout: 'size', threads: 2 } },
    { recipe: { ...one, model: layered } },
    { recipe: { ...one, model: layered }, options: { layout: 'size', link: 'copy' } },
    { recipe: { ...one, model: half, dtype: other } },
    { recipe: { ...one, model: layered }, options: { link: 'symbolic' } },
    { recipe: { ...one, model: { method: 'soup', models: [a, b] }, dtype: 'float16' } },
  ];
};
