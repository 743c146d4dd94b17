// @ts-check
// How far methods are from the least time that this machine needs for their bytes.
//
//   npm run bench:floors -- [--layers 2] [--vocabulary 2048] [--rounds 3] [--only METHOD]... [--inputs DIR] [--dir DIR]
//
// Base and two experts have the shapes of Llama 3.1 8B. A floor counts each input and output byte once. Two
// processes that read the page cache, and two that write to --dir, give the speeds. "GB read" is what the engine
// reads: a second pass counts again. "operations" are the formula's for an element, comparisons included.
// Processor time depends less on other work than seconds.
//
// Left out: cubic methods (iso_c, tsv_m), statistics in files (fisher, regmean), other models (transplant,
// mixture).
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { makeCheckpoints } from './lib/checkpoints.mjs';
import { measure, median, prime } from './lib/measure.mjs';
import { here } from './lib/tree-of.mjs';

const { values } = parseArgs({
  options: {
    layers: { type: 'string', default: '2' },
    vocabulary: { type: 'string', default: '2048' },
    rounds: { type: 'string', default: '3' },
    only: { type: 'string', multiple: true, default: [] },
    inputs: { type: 'string', default: join(tmpdir(), 'layerloom-bench-floors') },
    dir: { type: 'string', default: existsSync('/dev/shm') ? '/dev/shm' : tmpdir() },
  },
});
mkdirSync(values.inputs, { recursive: true });
const [base = '', a = '', b = ''] = makeCheckpoints(
  values.inputs,
  Number(values.layers),
  ['base', 'tuned-1', 'tuned-2'],
  Number(values.vocabulary),
);
const work = mkdtempSync(join(values.dir, 'layerloom-floors-'));
process.on('exit', () => rmSync(work, { recursive: true, force: true }));
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => process.exit(1));
const out = join(work, 'out');

/**
 * A method: the models it needs, operations for an element, and lines of its recipe after `method` and `models`.
 *
 * @typedef {{ models: string[], operations: number, lines: string[] }} Job
 */

/** @param {string[]} lines @returns {Job['lines']} */
const onBase = (...lines) => [`base: ${base}`, ...lines];
/** @param {number} operations @param {string[]} lines @returns {Job} of the base and both experts, weighted */
const changes = (operations, ...lines) => ({ models: [base, a, b], operations, lines: onBase(...lines) });
/** @param {number} operations @param {string[]} lines @returns {Job} of both experts */
const pair = (operations, ...lines) => ({ models: [a, b], operations, lines });
/** @param {number} operations @param {string[]} lines @returns {Job} of the base and an expert */
const one = (operations, ...lines) => ({ models: [base, a], operations, lines: onBase(...lines) });

// A difference of two experts from the base takes 2; signs, election and sum 10; a random word 10.
/** @type {Record<string, Job>} */
const jobs = {
  layer_swap: {
    models: [a, b],
    operations: 0,
    lines: [`task: ${a}`, `language: ${b}`, 'bottom: 1', 'top: 0'],
  },
  relayout: { models: [a], operations: 0, lines: [`model: ${a}`] },
  passthrough: { models: [a], operations: 1, lines: [] },
  soup: pair(3),
  linear: pair(3),
  nuslerp: pair(9),
  slerp: one(9, 't: 0.4'),
  karcher: pair(9),
  multislerp: changes(15),
  nearswap: one(8, 't: 0.001'),
  task_arithmetic: changes(6),
  ties: changes(14, 'density: 0.45'),
  breadcrumbs: changes(12, 'density: 0.45', 'gamma: 0.01'),
  breadcrumbs_ties: changes(16, 'density: 0.45', 'gamma: 0.01'),
  dare_linear: changes(28, 'density: 0.5'),
  dare_ties: changes(36, 'density: 0.5'),
  della_linear: changes(40, 'density: 0.45', 'epsilon: 0.2'),
  della: changes(48, 'density: 0.45', 'epsilon: 0.2'),
  model_stock: changes(9),
  sce: changes(16, 'select_topk: 0.5'),
  ram: changes(12, 'epsilon: 0.001'),
  ramplus_tl: changes(20, 'epsilon: 0.001'),
  arcee_fusion: one(12),
  revert: one(4, 'target_kept: 0.6'),
};

/** @param {string} name @param {Job} job */
const recipeOf = (name, { models, lines }) => {
  const path = join(work, `${name}.yaml`);
  const hasModels = !lines.some((line) => /^(task|model):/.test(line));
  const isWeighted = /^(linear|nuslerp|multislerp|task_|ties|breadcrumbs|dare|della)/.test(name);
  const listed = models
    .filter((model) => !lines.includes(`base: ${model}`))
    .map((model) => `  - { model: ${model}${isWeighted ? ', weight: 0.5' : ''} }`);
  const text = name === 'revert' ? [`model: ${a}`] : hasModels ? ['models:', ...listed] : [];
  writeFileSync(path, [`method: ${name}`, ...lines, ...text, ''].join('\n'));
  return path;
};

/** Files of weights. @param {string} model */
const filesOf = (model) =>
  readdirSync(model)
    .filter((name) => name.endsWith('.safetensors'))
    .map((name) => join(model, name));
/** @param {string[]} models */
const bytesOf = (models) => models.flatMap(filesOf).reduce((total, path) => total + statSync(path).size, 0);

const shell = (/** @type {string} */ script) => measure('sh', ['-c', script]);
const size = bytesOf([a]);
const half = Math.ceil(size / 2 / 2 ** 20);
const inHalves = (/** @type {(part: number) => string} */ dd) => `${dd(0)} & ${dd(1)} & wait`;
const [file = ''] = filesOf(a).sort((x, y) => statSync(y).size - statSync(x).size);
const readMost = Math.floor(statSync(file).size / 2 / 2 ** 20);
const reading = inHalves(
  (part) => `dd if=${file} of=/dev/null bs=1M count=${readMost} skip=${part * readMost} 2>/dev/null`,
);
const writing = inHalves(
  (part) => `dd if=/dev/zero of=${join(work, `w${part}`)} bs=1M count=${half} 2>/dev/null`,
);

/** @typedef {{ seconds: number[], processor: number[], read: number, written: number }} Found */
/** @type {Map<string, Found>} */
const found = new Map();
/** @type {{ read: number[], write: number[], copy: number[] }} */
const rates = { read: [], write: [], copy: [] };
const chosen = Object.entries(jobs).filter(
  ([name]) => values.only.length === 0 || values.only.includes(name),
);
for (let round = 0; round < Number(values.rounds); round += 1) {
  await shell(`cat ${[base, a, b].flatMap(filesOf).join(' ')} > /dev/null`);
  prime(work, 2 * size);
  rates.read.push((2 * readMost * 2 ** 20) / (await shell(reading)).seconds);
  rates.write.push((2 * half * 2 ** 20) / (await shell(writing)).seconds);
  await shell(`rm ${join(work, 'w0')} ${join(work, 'w1')}`);
  rates.copy.push((await shell(`cp -r ${a} ${out} && sync ${out}/*`)).seconds);
  rmSync(out, { recursive: true });
  for (const [name, job] of chosen) {
    const words = [join(here, 'bin/layerloom.cjs'), 'merge', recipeOf(name, job), '-o', out, '--json', '-q'];
    const cost = await measure(process.execPath, words);
    const { bytesRead, bytesWritten } = JSON.parse(cost.stdout);
    /** @type {Found} */
    const own = found.get(name) ?? { seconds: [], processor: [], read: bytesRead, written: bytesWritten };
    own.seconds.push(cost.seconds);
    own.processor.push(cost.processorSeconds);
    found.set(name, own);
    rmSync(out, { recursive: true });
  }
}

const [readRate, writeRate, copy] = [median(rates.read), median(rates.write), median(rates.copy)];
const digits = (/** @type {number} */ number) => number.toFixed(2);
const gb = (/** @type {number} */ bytes) => digits(bytes / 1e9);
console.log(
  `\ncp ${digits(copy)} s; two processes read ${digits(readRate / 1e9)} GB/s and write ${digits(writeRate / 1e9)} GB/s\n`,
);
console.log(
  '| method | operations | GB of models | GB read | GB written | floor, s | s | × floor | × cp | processor ns an element |',
);
console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |');
for (const [name, { models, operations }] of chosen) {
  const own = found.get(name);
  if (own === undefined) continue;
  // A swap reads one of two copies of each tensor.
  const needed = operations === 0 ? size : bytesOf(models);
  const floor = needed / readRate + own.written / writeRate;
  const seconds = median(own.seconds);
  const nanoseconds = (median(own.processor) * 1e9) / (own.written / 2);
  console.log(
    `| ${name} | ${operations} | ${gb(needed)} | ${gb(own.read)} | ${gb(own.written)} | ${digits(floor)} | ${digits(seconds)} | ${digits(seconds / floor)} | ${digits(seconds / copy)} | ${digits(nanoseconds)} |`,
  );
}
