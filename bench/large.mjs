// @ts-check
// Commands over checkpoints of the shapes of Llama 3.1 405B: what memory they take, and that they come through.
//
//   npm run bench:large [-- --dir DIR] [--only NAME]...   (verify, diff and store need the one before them that makes the output)
//
// The checkpoints are sparse files: headers, index and sizes are real, and a little of each tensor is weights. What reads headers alone runs on all 126
// layers (812 GB in 191 files, or in one); what reads or writes weights on one layer between embeddings and head, 14.8 GB with matrices as large as those of all
// layers; and on a matrix of more than 2³² elements. Outputs are not sparse: DIR is a disk with 20 GB free. Prints for each command its private memory (RssAnon), address
// space, processor time, and bytes that it read and wrote. Ends with 1 where a command failed. An hour on two cores.
import {
  closeSync,
  existsSync,
  ftruncateSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { encodeHeader } from 'layerloom';
import { larger, makeAdapters, makeLargeCheckpoints } from './lib/checkpoints.mjs';
import { measure } from './lib/measure.mjs';

const { values } = parseArgs({
  options: {
    dir: { type: 'string', default: tmpdir() },
    only: { type: 'string', multiple: true, default: [] },
  },
});
const cli = fileURLToPath(new URL('../bin/layerloom.cjs', import.meta.url));
const directory = mkdtempSync(join(values.dir, 'layerloom-large-'));
process.on('exit', () => rmSync(directory, { recursive: true, force: true }));
process.on('SIGINT', () => process.exit(130));

const names = ['base', 'task', 'lang'];
const [base = '', task = '', lang = ''] = makeLargeCheckpoints(join(directory, 'whole'), 126, names, {
  filled: 4096,
});
const [file = ''] = makeLargeCheckpoints(join(directory, 'file'), 126, ['base'], {
  filled: 4096,
  most: Number.POSITIVE_INFINITY,
});
const [base1 = '', task1 = '', lang1 = ''] = makeLargeCheckpoints(join(directory, 'layer'), 1, names, {
  filled: 2 ** 21,
});
const [adapter = '', adapter2 = ''] = makeAdapters(directory, 126, 4, ['adapter-1', 'adapter-2'], larger);
const [adapter1 = ''] = makeAdapters(directory, 1, 16, ['adapter-of-layer'], larger);

/** A model with one matrix of more than 2³² elements, of which 4 MiB at either end are weights. @param {string} name @param {number} step */
const makeWide = (name, step) => {
  const path = join(directory, 'wide', name);
  mkdirSync(path, { recursive: true });
  const shape = [65_544, 65_536];
  const bytes = 2 * 65_544 * 65_536;
  const fd = openSync(join(path, 'model.safetensors'), 'w');
  const begin = writeSync(
    fd,
    encodeHeader([{ name: 'model.layers.0.mlp.up_proj.weight', dtype: 'BF16', shape, bytes }]),
  );
  ftruncateSync(fd, begin + bytes);
  const block = new Uint16Array(2 ** 21).map((_, at) => 0x3c00 + ((at * step) % 1021));
  for (const at of [begin, begin + bytes - block.byteLength])
    writeSync(fd, new Uint8Array(block.buffer), 0, null, at);
  closeSync(fd);
  const config = { model_type: 'llama', num_hidden_layers: 1, hidden_size: 65_536, torch_dtype: 'bfloat16' };
  writeFileSync(join(path, 'config.json'), JSON.stringify(config));
  return path;
};
const [wideBase = '', wideTask = '', wideLang = ''] = names.map((name, index) =>
  makeWide(name, 1 + 2 * index),
);

const unweighted = ['tsv_m', 'sce', 'model_stock', 'karcher'];

/** A recipe of two experts. @param {string} name @param {string} method @param {string} parameters @param {[string, string, string]} models */
const recipe = (name, method, parameters, [of, one, other]) => {
  const path = join(directory, `${name}.yaml`);
  const models = [one, other].map((model) =>
    unweighted.includes(method) ? `  - ${model}` : `  - { model: ${model}, weight: 1 }`,
  );
  writeFileSync(path, [`method: ${method}`, `base: ${of}`, 'models:', ...models, parameters, ''].join('\n'));
  return path;
};
/** @param {string} method @param {string} [parameters] */
const ofLayer = (method, parameters = '') => [
  'merge',
  recipe(method, method, parameters, [base1, task1, lang1]),
  '-o',
  out,
];
/** @param {string} method @param {string} [parameters] */
const ofAll = (method, parameters = '') => [
  'merge',
  recipe(`${method}-of-all`, method, parameters, [base, task, lang]),
  '--dry-run',
];
/** @param {string} name @param {string} merges @param {string[]} experts */
const experiment = (name, merges, [of, one, other] = [base, task, lang]) => {
  const path = join(directory, name);
  writeFileSync(
    path,
    `base: ${of}\ntasks: {expert: ${one}}\nlanguages:\n  swahili: {speaker: ${other}}\nmerges:\n  - {name: merge, method: layer_swap, ${merges}}\n`,
  );
  return path;
};

const out = join(directory, 'out');
const swap1 = ['swap', '--task', task1, '--lang', lang1, '--bottom', '0', '--top', '0'];
const grid = experiment('grid.yaml', 'bottom: [1, 2, 3, 4, 5, 6, 7, 8, 9], top: [1, 2, 3, 4, 5, 6, 7, 8, 9]');
const one = experiment('one.yaml', 'bottom: 0, top: 0', [base1, task1, lang1]);

/** Commands in order; those with `keeps` leave their output to the next. @type {{ name: string, args: string[], keeps?: true }[]} */
const whole = [
  { name: 'inspect', args: ['inspect', base] },
  { name: 'inspect, one file of 812 GB', args: ['inspect', file] },
  { name: 'doctor', args: ['doctor', base] },
  { name: 'swap --dry-run', args: ['swap', '--task', task, '--lang', lang, '--dry-run'] },
  { name: 'soup --dry-run', args: ['soup', task, lang, '--dry-run'] },
  { name: 'TIES --dry-run', args: ofAll('ties', 'density: 0.3') },
  { name: 'TSV-Merge --dry-run', args: ofAll('tsv_m') },
  { name: 'relayout of one file --dry-run', args: ['relayout', file, '--dry-run'] },
  { name: 'batch of 81 --dry-run', args: ['batch', grid, '-o', out, '--dry-run'] },
  { name: 'partition', args: ['partition', base, '-o', out] },
  {
    name: 'relayout to one file, linked',
    args: [
      'relayout',
      file,
      '--layout',
      'size',
      '--max-shard-size',
      '1000GB',
      '--link',
      'symbolic',
      '-o',
      out,
    ],
    keeps: true,
  },
  { name: 'verify of it', args: ['verify', out], keeps: true },
  { name: 'diff with it', args: ['diff', file, out] },
  { name: 'apply an adapter --dry-run', args: ['apply', base, adapter, '--dry-run'] },
  { name: 'soup of adapters', args: ['soup', adapter, adapter2, '--base', base, '-o', out] },
];
/** @type {typeof whole} */
const ofOne = [
  { name: 'swap', args: [...swap1, '-o', out], keeps: true },
  { name: 'verify --against-inputs', args: ['verify', out, '--against-inputs'], keeps: true },
  { name: 'diff', args: ['diff', task1, out] },
  { name: 'swap --checksums', args: [...swap1, '--checksums', '-o', out] },
  { name: 'soup', args: ['soup', task1, lang1, '-o', out] },
  { name: 'TIES', args: ofLayer('ties', 'density: 0.3') },
  { name: 'breadcrumbs', args: ofLayer('breadcrumbs', 'density: 0.6\ngamma: 0.05') },
  { name: 'DARE', args: ofLayer('dare_ties', 'density: 0.5') },
  { name: 'DELLA', args: ofLayer('della', 'density: 0.5\nepsilon: 0.2') },
  { name: 'SCE', args: ofLayer('sce', 'select_topk: 0.3') },
  { name: 'model stock', args: ofLayer('model_stock') },
  { name: 'Karcher', args: ofLayer('karcher') },
  { name: 'analyze, two experts', args: ['analyze', '--base', base1, task1, lang1, '-o', out] },
  { name: 'revert by rows', args: ['revert', '--base', base1, task1, '--target-kept', '0.5', '-o', out] },
  { name: 'relayout --quantize fp8-block', args: ['relayout', task1, '--quantize', 'fp8-block', '-o', out] },
  {
    name: 'relayout --dtype float32 --dry-run',
    args: ['relayout', task1, '--dtype', 'float32', '-o', out, '--dry-run'],
  },
  { name: 'apply an adapter of rank 16', args: ['apply', base1, adapter1, '-o', out] },
  { name: 'batch of one swap', args: ['batch', one, '-o', out], keeps: true },
  { name: 'store ls', args: ['store', 'ls', join(out, '.store')], keeps: true },
  { name: 'store verify', args: ['store', 'verify', join(out, '.store')], keeps: true },
  { name: 'store gc', args: ['store', 'gc', join(out, '.store')] },
  {
    name: 'extract-lora, rank 16',
    args: ['extract-lora', '--base', base1, task1, '--rank', '16', '-o', out],
  },
];
/** @type {typeof whole} */
const ofWide = [
  { name: 'diff', args: ['diff', wideTask, wideLang] },
  { name: 'soup', args: ['soup', wideTask, wideLang, '-o', out] },
  {
    name: 'TIES',
    args: ['merge', recipe('wide', 'ties', 'density: 0.0005', [wideBase, wideTask, wideLang]), '-o', out],
  },
];

/** @param {number} bytes */
const size = (bytes) =>
  bytes >= 1e9 ? `${(bytes / 1e9).toFixed(1)} GB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

let failed = false;
for (const [title, jobs] of /** @type {const} */ ([
  ['126 layers, 812 GB', whole],
  ['one layer, embeddings and head, 14.8 GB', ofOne],
  ['one matrix of 65,544 × 65,536, 8.6 GB', ofWide],
])) {
  console.log(`\n| ${title} | private | address space | processor s | read by calls | written by calls |`);
  console.log('| --- | --- | --- | --- | --- | --- |');
  for (const { name, args, keeps } of jobs.filter(
    (job) => values.only.length === 0 || values.only.includes(job.name),
  )) {
    try {
      const cost = await measure(process.execPath, [cli, ...args, '-q']);
      console.log(
        `| ${name} | ${size(cost.privateBytes)} | ${size(cost.addressBytes)} | ${cost.processorSeconds.toFixed(1)} | ${size(cost.readBytes)} | ${size(cost.writtenBytes)} |`,
      );
    } catch (error) {
      failed = true;
      console.log(`| ${name} | failed |`);
      console.error(error instanceof Error ? error.message : error);
    }
    if (!keeps && existsSync(out)) rmSync(out, { recursive: true });
  }
}
process.exitCode = failed ? 1 : 0;
