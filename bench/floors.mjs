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
import { methodJobs, writeRecipe } from './lib/method-jobs.mjs';
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

/** Operations for an element, 0 for copies. */
// A difference of two experts from the base takes 2; signs, election and sum 10; a random word 10.
const operations = {
  ...{ layer_swap: 0, relayout: 0, passthrough: 1, soup: 3, linear: 3, nuslerp: 9, slerp: 9, karcher: 9 },
  ...{ multislerp: 15, nearswap: 8, task_arithmetic: 6, ties: 14, breadcrumbs: 12, breadcrumbs_ties: 16 },
  ...{ dare_linear: 28, dare_ties: 36, della_linear: 40, della: 48, model_stock: 9, sce: 16, ram: 12 },
  ...{ ramplus_tl: 20, arcee_fusion: 12, revert: 4 },
};

/** Methods of layerloom alone: models, and lines of the recipe. @type {Record<string, [models: string[], lines: string[]]>} */
const own = {
  layer_swap: [
    [a, b],
    [`task: ${a}`, `language: ${b}`, 'bottom: 1', 'top: 0'],
  ],
  relayout: [[a], [`model: ${a}`]],
  soup: [[a, b], [`models: [${a}, ${b}]`]],
  revert: [
    [base, a],
    [`base: ${base}`, `model: ${a}`, 'target_kept: 0.6'],
  ],
};

/** Returns the models that a method reads, and its recipe. @param {string} name */
const jobOf = (name) => {
  const job = methodJobs[name];
  if (job !== undefined) {
    const models = [base, a, b].slice(0, job.experts + 1);
    return { models: models.slice(job.base ? 0 : 1), recipe: writeRecipe(work, name, job, models) };
  }
  const [models = [], lines = []] = own[name] ?? [];
  const recipe = join(work, `${name}.yaml`);
  writeFileSync(recipe, [`method: ${name}`, ...lines, ''].join('\n'));
  return { models, recipe };
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
const chosen = Object.entries(operations).filter(
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
  for (const [name] of chosen) {
    const words = [join(here, 'bin/layerloom.cjs'), 'merge', jobOf(name).recipe, '-o', out, '--json', '-q'];
    const cost = await measure(process.execPath, words);
    const { bytesRead, bytesWritten } = JSON.parse(cost.stdout);
    /** @type {Found} */
    const costs = found.get(name) ?? { seconds: [], processor: [], read: bytesRead, written: bytesWritten };
    costs.seconds.push(cost.seconds);
    costs.processor.push(cost.processorSeconds);
    found.set(name, costs);
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
for (const [name, count] of chosen) {
  const costs = found.get(name);
  if (costs === undefined) continue;
  // A swap reads one of two copies of each tensor.
  const needed = count === 0 ? size : bytesOf(jobOf(name).models);
  const floor = needed / readRate + costs.written / writeRate;
  const seconds = median(costs.seconds);
  const nanoseconds = (median(costs.processor) * 1e9) / (costs.written / 2);
  console.log(
    `| ${name} | ${count} | ${gb(needed)} | ${gb(costs.read)} | ${gb(costs.written)} | ${digits(floor)} | ${digits(seconds)} | ${digits(seconds / floor)} | ${digits(seconds / copy)} | ${digits(nanoseconds)} |`,
  );
}
