// @ts-check
// Private memory of a merge by input size, and of a batch by number of merges.
//
//   npm run bench:memory [-- --dir DIR]
//
// Swaps two checkpoints of 100 MB and two of 1 GB; runs batches of 1, 9 and 81 merges of six checkpoints of
// 100 MB (2 GB of disk). Prints the peak anonymous memory (RssAnon of the process tree, sampled every 20 ms),
// and that of an idle Node. Mapped files belong to the page cache and do not count.
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { encodeHeader } from 'layerloom';
import { measure, median } from './lib/measure.mjs';

const cli = fileURLToPath(new URL('../bin/layerloom.cjs', import.meta.url));
const { values } = parseArgs({
  options: { dir: { type: 'string', default: tmpdir() }, repeats: { type: 'string', default: '3' } },
});

/**
 * Writes a checkpoint of `megabytes` in bfloat16: embeddings, eight layers and a norm.
 *
 * @param {string} directory
 * @param {number} megabytes
 * @param {number} fill
 */
const writeCheckpoint = (directory, megabytes, fill) => {
  mkdirSync(directory, { recursive: true });
  const rows = Math.round((megabytes * 1e6) / 9 / 2 / 1024);
  const names = [
    'model.embed_tokens.weight',
    ...Array.from({ length: 8 }, (_, layer) => `model.layers.${layer}.mlp.up_proj.weight`),
  ];
  const tensors = names.map((name) => ({
    name,
    dtype: /** @type {const} */ ('BF16'),
    shape: [rows, 1024],
    bytes: rows * 2048,
  }));
  const file = openSync(join(directory, 'model.safetensors'), 'w');
  writeSync(file, encodeHeader(tensors));
  const block = Buffer.alloc(2048 * 512, fill);
  for (let left = rows * 2048 * 9; left > 0; left -= block.length)
    writeSync(file, block, 0, Math.min(left, block.length));
  closeSync(file);
};

const peakOf = async (/** @type {string[]} */ args) => (await measure(process.execPath, args)).privateBytes;
const megabytes = (/** @type {number} */ bytes) => `${(bytes / 1e6).toFixed(1)} MB`;

const [tasks, languages] = [
  ['task-1', 'task-2', 'task-3'],
  ['language-1', 'language-2', 'language-3'],
];
const experimentOf = (/** @type {number} */ experts, /** @type {string} */ merge) => {
  const some = (/** @type {string[]} */ names) =>
    names
      .slice(0, experts)
      .map((name) => `${name}: ./${name}`)
      .join(', ');
  return `tasks: {${some(tasks)}}\nlanguages:\n  language: {${some(languages)}}\nmerges:\n  - {name: merge, method: layer_swap, ${merge}}\n`;
};

/** By number of merges: one pair, nine pairs, nine pairs by a grid of nine. @type {[number, string][]} */
const batches = [
  [1, experimentOf(1, 'bottom: 2, top: 1')],
  [9, experimentOf(3, 'bottom: 2, top: 1')],
  [81, experimentOf(3, 'bottom: [1, 2, 3], top: 1, bottom_transition: [0, 1, 2]')],
];

const directory = mkdtempSync(join(values.dir, 'layerloom-memory-'));
try {
  const repeats = Array.from({ length: Number(values.repeats) });
  const idle = [];
  for (const _ of repeats) idle.push(await peakOf(['-e', 'setTimeout(() => {}, 300)']));
  console.log(`idle Node       ${megabytes(median(idle))}`);
  for (const size of [100, 1000]) {
    const [task, language, out] = ['task', 'language', 'out'].map((name) =>
      join(directory, `${name}-${size}`),
    );
    writeCheckpoint(task ?? '', size, 0x3c);
    writeCheckpoint(language ?? '', size, 0x3b);
    const peaks = [];
    for (const _ of repeats) {
      rmSync(out ?? '', { recursive: true, force: true });
      peaks.push(
        await peakOf([
          cli,
          'swap',
          '--task',
          task ?? '',
          '--lang',
          language ?? '',
          '-o',
          out ?? '',
          '--bottom',
          '2',
          '--top',
          '1',
          '--bottom-transition',
          '2',
          '-q',
        ]),
      );
    }
    console.log(
      `swap of ${`${size} MB`.padEnd(8)}${megabytes(median(peaks))}  (${peaks.map(megabytes).join(', ')})`,
    );
    for (const path of [task, language, out]) rmSync(path ?? '', { recursive: true, force: true });
  }

  for (const [index, name] of [...tasks, ...languages].entries())
    writeCheckpoint(join(directory, name), 100, 0x38 + index);
  for (const [merges, text] of batches) {
    const [file, out] = [join(directory, 'experiment.yaml'), join(directory, 'batch')];
    writeFileSync(file, text);
    const peaks = [];
    for (const _ of repeats) {
      rmSync(out, { recursive: true, force: true });
      peaks.push(await peakOf([cli, 'batch', file, '-o', out, '-q']));
    }
    console.log(
      `batch of ${String(merges).padEnd(7)}${megabytes(median(peaks))}  (${peaks.map(megabytes).join(', ')})`,
    );
  }
} finally {
  rmSync(directory, { recursive: true, force: true });
}
