// @ts-check
// Experiments over a store of shards: their cost, their shards' keys, and every file.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fingerprints, sha256 } from './fingerprint.mjs';

/** @typedef {import('./checkpoints.mjs').Models} Models */
/** @typedef {'BF16' | 'F32'} Dtype */

/** @param {Models} models @param {readonly Record<string, unknown>[]} more */
const experimentOf = ({ base, a, b, c, layered }, more) => {
  return /** @type {import('../../../src/index.js').ExperimentInput} */ (
    /** @type {unknown} */ ({
      base,
      tasks: { math: a, layered },
      languages: { swahili: { one: b, two: c }, telugu: { three: c } },
      merges: [
        {
          name: 'swap',
          method: 'layer_swap',
          layers: [
            [2, 1],
            [3, 2],
          ],
        },
        {
          name: 'grid',
          method: 'layer_swap',
          bottom: [1, 2],
          top: 1,
          bottom_transition: [0, 1],
          weights: ['uniform', 'magnitude'],
        },
        { name: 'soup', method: 'soup', weights: ['uniform', 'magnitude'] },
        { name: 'ties', method: 'ties', density: [0.2, 0.5] },
        ...more,
      ],
    })
  );
};

/**
 * The keys of each merge's shards.
 * @param {string} out
 * @param {readonly { path: string }[]} merges
 * @returns {Record<string, string>}
 */
const keysIn = (out, merges) =>
  Object.fromEntries(
    merges.map(({ path }) => {
      const { shards } = JSON.parse(readFileSync(join(out, path, 'layerloom.json'), 'utf8'));
      return [
        path,
        sha256(
          shards.map((/** @type {{ file: string, key: string }} */ one) => `${one.file} ${one.key}`).join(),
        ),
      ];
    }),
  );

/** @param {import('./recorder.mjs').Recorder} recorder @param {Models} models @param {Dtype} dtype */
export const runBatches = async ({ layerloom, root, hashOf, add, record }, models, dtype) => {
  const { planExperiment, runExperiment } = layerloom;
  const more = [
    { name: 'soups', method: 'layer_swap', task: 'soup', language: 'soup', bottom: 2, top: 1 },
    { name: 'della', method: 'della', density: 0.5, epsilon: 0.2 },
    { name: 'stock', method: 'model_stock' },
  ];
  for (const [name, settings] of Object.entries({
    'by layer': {},
    'by size': /** @type {const} */ ({ layout: 'size', maxShardSize: '300KB' }),
  })) {
    const { plan, cost } = await planExperiment(experimentOf(models, more), settings);
    const merges = plan.merges.map(({ merge: { name: path }, shards, bytes }) => ({
      path,
      bytes,
      shards: shards.map((shard) => ({ file: shard.file, bytes: shard.bytes, verbatim: shard.verbatim })),
    }));
    add('batch plan', `${dtype} ${name}`, { '(merges)': hashOf(merges), '(cost)': hashOf(cost) });
  }
  await record('batch', dtype, async (out) => {
    const first = await runExperiment(experimentOf(models, []), { out, checksums: true, threads: 2 });
    const before = fingerprints(out, root, { prefix: 'first/' });
    const second = await runExperiment(experimentOf(models, more), { out, resume: true, threads: 2 });
    // Merges are recorded in the order of completion.
    const inOrder = (/** @type {typeof first} */ { merges, ...rest }) => ({
      ...rest,
      merges: [...merges].sort((x, y) => (x.name < y.name ? -1 : 1)),
    });
    add('shard keys', dtype, keysIn(out, second.experiment.merges));
    return { '(first)': hashOf(inOrder(first)), '(second)': hashOf(inOrder(second)), ...before };
  });
  await record('batch', `${dtype} copied, by size`, async (out) => {
    await runExperiment(experimentOf(models, more), {
      out,
      layout: 'size',
      maxShardSize: '300KB',
      link: 'copy',
      threads: 1,
    });
    return {};
  });
};
