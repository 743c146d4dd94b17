// @ts-check
// The README's table: one layer swap by layerloom, by a torch script and by mergekit, and the disk of 729 merges.
//
//   LAYERLOOM_PYTHON=PYTHON npm run bench:beside -- [--layers 3] [--rows 2048] [--repeats 3] [--dir DIR] [--only swap,grid]
//
// Experts have Llama 3.1 8B's layers and a smaller vocabulary. Ways take turns in each round, figures are medians, and
// all files are on one file system. Python needs torch, safetensors and mergekit. Disk is blocks that only the output
// has: linked ones belong to the inputs.
import { execFileSync } from 'node:child_process';
import { existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeCheckpoints } from './lib/checkpoints.mjs';
import { measure, median, prime } from './lib/measure.mjs';
import { makeSmallCheckpoints } from './lib/small-checkpoints.mjs';

const { values } = parseArgs({
  options: {
    layers: { type: 'string', default: '3' },
    rows: { type: 'string', default: '2048' },
    only: { type: 'string', default: 'swap,grid' },
    repeats: { type: 'string', default: '3' },
    dir: { type: 'string', default: existsSync('/dev/shm') ? '/dev/shm' : tmpdir() },
    python: { type: 'string', default: process.env['LAYERLOOM_PYTHON'] ?? 'python3' },
  },
});
const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
const cli = here('../bin/layerloom.cjs');
const layers = Number(values.layers);
const work = mkdtempSync(join(values.dir, 'layerloom-beside-'));
process.on('exit', () => rmSync(work, { recursive: true, force: true }));
const out = join(work, 'out');

/** Bytes of blocks below a directory, each file once; without those that files elsewhere share. @param {string} directory @param {boolean} [own] */
const blocksOf = (directory, own = false) => {
  /** @type {Map<number, number>} */
  const files = new Map();
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const { ino, blocks, nlink } = lstatSync(join(entry.parentPath, entry.name));
    if (entry.isFile() && !(own && nlink > 1)) files.set(ino, blocks * 512);
  }
  return [...files.values()].reduce((a, b) => a + b, 0);
};

/** A layer swap as mergekit's recipe: `linear` over slices, with weights of 0 and 1 in layers and 1 elsewhere. @param {string} task @param {string} language */
const recipe = (task, language) => {
  const outside = ['embed_tokens', 'lm_head', 'model.norm']
    .map((name) => `{filter: ${name}, value: 1}`)
    .join(', ');
  const source = (/** @type {string} */ model, /** @type {string} */ range, /** @type {number} */ weight) =>
    `      - {model: ${model}, layer_range: ${range}, parameters: {weight: [${outside}, {value: ${weight}}]}}`;
  const slice = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ weight) =>
    `  - sources:\n${source(task, `[${from}, ${to}]`, weight)}\n${source(language, `[${from}, ${to}]`, 1 - weight)}`;
  const slices = [slice(0, 1, 0), slice(1, layers - 1, 1), slice(layers - 1, layers, 0)];
  return ['merge_method: linear', 'dtype: bfloat16', 'slices:', ...slices, ''].join('\n');
};

/** @param {Map<string, (import('./lib/measure.mjs').Cost & { disk: number })[]>} costs */
const rowsOf = (costs) => {
  const [copies = []] = costs.values();
  const unit = median(copies.map(({ seconds }) => seconds));
  const gigabytes = (/** @type {number} */ bytes) => (bytes / 1e9).toFixed(2);
  return [...costs].map(([name, measured]) => {
    const of = (/** @type {'seconds' | 'processorSeconds' | 'privateBytes' | 'peakBytes' | 'disk'} */ key) =>
      median(measured.map((cost) => cost[key]));
    const all = measured.map(({ seconds }) => seconds.toFixed(1)).join(', ');
    return {
      way: name,
      seconds: `${of('seconds').toFixed(2)} (${all})`,
      '× cp': (of('seconds') / unit).toFixed(2),
      'processor s': of('processorSeconds').toFixed(1),
      'private GB': gigabytes(of('privateBytes')),
      'resident GB': gigabytes(of('peakBytes')),
      'disk GB': gigabytes(of('disk')),
    };
  });
};

const oneSwap = async () => {
  const [task = '', language = ''] = makeCheckpoints(
    join(work, 'inputs'),
    layers,
    ['task', 'language'],
    Number(values.rows),
  );
  for (const model of [task, language])
    execFileSync(process.execPath, [cli, 'relayout', model, '-o', `${model}-by-layer`, '-q']);
  const file = join(work, 'mergekit.yaml');
  writeFileSync(file, recipe(task, language));
  const swap = (/** @type {string} */ models, /** @type {string} */ link) => [
    cli,
    ...`swap ${models} --bottom 1 --top 1 --link ${link} -o ${out} -q`.split(' '),
  ];
  /** @type {[name: string, command: string, args: string[]][]} */
  const ways = [
    ['cp -r of one expert', 'cp', ['-r', task, out]],
    ['layerloom swap, copies', process.execPath, swap(`--task ${task} --lang ${language}`, 'copy')],
    [
      'layerloom swap, hard links',
      process.execPath,
      swap(`--task ${task}-by-layer --lang ${language}-by-layer`, 'hard'),
    ],
    ['torch script', values.python, [here('peers/swap_torch.py'), task, language, out, '1', '1']],
    [
      'mergekit 0.1.5',
      values.python,
      ['-m', 'mergekit.scripts.run_yaml', file, out, '--no-copy-tokenizer', '--quiet'],
    ],
  ];
  const size = blocksOf(task);
  const costs = new Map(
    ways.map(([name]) => [name, /** @type {(import('./lib/measure.mjs').Cost & { disk: number })[]} */ ([])]),
  );
  for (let round = 0; round < Number(values.repeats); round += 1) {
    for (const [name, command, args] of ways) {
      prime(work, 1.2 * size);
      const cost = await measure(command, args, { HF_HUB_OFFLINE: '1' });
      costs.get(name)?.push({ ...cost, disk: blocksOf(out, true) });
      rmSync(out, { recursive: true });
      process.stderr.write(`${name}: ${cost.seconds.toFixed(2)} s\n`);
    }
    console.table(rowsOf(costs));
  }
};

/** Runs the grid of 3 × 3 experts in 81 configurations over models of 32 small layers. */
const grid = () => {
  const small = join(work, 'small');
  const stems = ['math', 'swh'];
  const names = stems.flatMap((stem) => [1, 2, 3].map((n) => `${stem}-${n}`));
  const sizes = { hidden: 128, inner: 448, keyValue: 32, heads: /** @type {[number, number]} */ ([4, 1]) };
  mkdirSync(small);
  makeSmallCheckpoints(small, names, { layers: 32, vocabulary: 1024, sizes });
  const layerloom = (/** @type {string} */ words) =>
    execFileSync(process.execPath, [cli, ...words.split(' ')], { cwd: small, stdio: 'inherit' });
  const [math, swahili] = ['', 'swahili:'].map((language, index) =>
    [1, 2, 3].map((n) => `${language}${stems[index]}-${n}=./${stems[index]}-${n}`).join(' '),
  );
  layerloom(`experiment init --preset grid -o grid.yaml --task ${math} --lang ${swahili}`);
  layerloom('batch grid.yaml -o grid -q');
  const [all, one] = [blocksOf(join(small, 'grid')), blocksOf(join(small, 'math-1'))];
  const merges = readdirSync(join(small, 'grid'), { recursive: true }).filter((path) =>
    /layerloom\.json$/.test(String(path)),
  ).length;
  return {
    merges,
    'all MB': (all / 1e6).toFixed(1),
    'one MB': (one / 1e6).toFixed(1),
    'times less': ((merges * one) / all).toFixed(1),
  };
};

if (values.only.includes('grid')) console.table([grid()]);
if (values.only.includes('swap')) await oneSwap();
