// @ts-check
// Every method that mergekit 0.1.5 has too, by both, from one recipe; and a merge of 2 to 20 experts.
//
//   LAYERLOOM_PYTHON=PYTHON npm run bench:mergekit -- [--layers 1] [--vocabulary 2048] [--rounds 1] [--only METHOD]...
//     [--experts 2,5,10,20] [--inputs DIR] [--dir DIR] [--picture FILE]
//
// Models have the shapes of Llama 3.1 8B. The tools take turns, and read the page cache. For merges of many
// experts the page cache is dropped before each (needs root), and "GB read" is what the disk of --inputs gave.
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { drawPairs } from './lib/chart.mjs';
import { makeCheckpoints } from './lib/checkpoints.mjs';
import { measure, median, prime } from './lib/measure.mjs';
import { methodJobs, writeRecipe } from './lib/method-jobs.mjs';
import { here } from './lib/tree-of.mjs';

const { values } = parseArgs({
  options: {
    layers: { type: 'string', default: '1' },
    vocabulary: { type: 'string', default: '2048' },
    rounds: { type: 'string', default: '1' },
    only: { type: 'string', multiple: true, default: [] },
    experts: { type: 'string', default: '2,5,10,20' },
    inputs: { type: 'string', default: join(tmpdir(), 'layerloom-bench-mergekit') },
    dir: { type: 'string', default: existsSync('/dev/shm') ? '/dev/shm' : tmpdir() },
    picture: { type: 'string' },
    python: { type: 'string', default: process.env['LAYERLOOM_PYTHON'] ?? 'python3' },
  },
});
mkdirSync(values.inputs, { recursive: true });
const work = mkdtempSync(join(values.dir, 'layerloom-mergekit-'));
process.on('exit', () => rmSync(work, { recursive: true, force: true }));
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => process.exit(1));
const out = join(work, 'out');

/** @param {number} experts */
const modelsOf = (experts) =>
  makeCheckpoints(
    values.inputs,
    Number(values.layers),
    ['base', ...Array.from({ length: experts }, (_, at) => `tuned-${at + 1}`)],
    Number(values.vocabulary),
  );

const tools = {
  layerloom: (/** @type {string} */ file) =>
    measure(process.execPath, [join(here, 'bin/layerloom.cjs'), 'merge', file, '-o', out, '-q']),
  mergekit: (/** @type {string} */ file) =>
    measure(values.python, ['-m', 'mergekit.scripts.run_yaml', file, out, '--no-copy-tokenizer', '--quiet'], {
      HF_HUB_OFFLINE: '1',
    }),
};
const names = /** @type {const} */ (['layerloom', 'mergekit']);

/** Bytes of weights. @param {string[]} models */
const bytesOf = (models) =>
  models
    .flatMap((model) => readdirSync(model).map((name) => join(model, name)))
    .reduce((total, path) => total + statSync(path).size, 0);

const table = (/** @type {readonly (string | number)[][]} */ [head = [], ...rows]) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n');
const s = (/** @type {number} */ seconds) => seconds.toFixed(seconds < 10 ? 2 : 1);

const byMethod = async () => {
  const models = modelsOf(2);
  const size = bytesOf(models.slice(0, 1));
  /** @type {Map<string, Record<(typeof names)[number], import('./lib/measure.mjs').Cost[]>>} */
  const found = new Map();
  /** @type {number[]} */
  const copies = [];
  for (let round = 0; round < Number(values.rounds); round += 1)
    for (const [name, job] of Object.entries(methodJobs)) {
      if (values.only.length > 0 && !values.only.includes(name)) continue;
      const file = writeRecipe(work, name, job, models.slice(0, job.experts + 1));
      const both = found.get(name) ?? { layerloom: [], mergekit: [] };
      found.set(name, both);
      prime(work, 1.5 * size);
      copies.push((await measure('sh', ['-c', `cp -r ${models[0]} ${out} && sync ${out}/*`])).seconds);
      rmSync(out, { recursive: true });
      for (const tool of names) {
        prime(work, 1.5 * size);
        both[tool].push(await tools[tool](file));
        rmSync(out, { recursive: true });
      }
      process.stderr.write(`${name}\n`);
    }
  const copy = median(copies);
  const of = (
    /** @type {import('./lib/measure.mjs').Cost[]} */ costs,
    /** @type {'seconds' | 'processorSeconds' | 'privateBytes'} */ key,
  ) => median(costs.map((cost) => cost[key]));
  const rows = [...found]
    .map(([name, { layerloom, mergekit }]) => ({
      name,
      seconds: [of(layerloom, 'seconds'), of(mergekit, 'seconds')],
      processor: [of(layerloom, 'processorSeconds'), of(mergekit, 'processorSeconds')],
      memory: [of(layerloom, 'privateBytes'), of(mergekit, 'privateBytes')],
    }))
    .sort((a, b) => (a.seconds[0] ?? 0) - (b.seconds[0] ?? 0));
  console.log(`\ncp -r ${s(copy)} s; seconds (processor seconds, private MB)\n`);
  console.log(
    table([
      ['method', ...names, 'times as fast'],
      ...rows.map(({ name, seconds, processor, memory }) => [
        `\`${name}\``,
        ...seconds.map(
          (one, at) => `${s(one)} (${s(processor[at] ?? 0)}, ${((memory[at] ?? 0) / 1e6).toFixed(0)})`,
        ),
        ((seconds[1] ?? 0) / (seconds[0] ?? 1)).toFixed(1),
      ]),
    ]),
  );
  if (values.picture !== undefined)
    writeFileSync(
      values.picture,
      drawPairs(
        'One recipe, two tools',
        `seconds of a merge, on a logarithmic scale; models of ${(size / 1e9).toFixed(2)} GB; cp -r takes ${s(copy)} s`,
        rows.map(({ name, seconds: [own = 0, other = 0] }) => ({ label: name, own, other })),
        ['layerloom', 'mergekit 0.1.5'],
        copy,
      ),
    );
};

/** Bytes that disks have given, whoever asked. */
const bytesFromDisks = () =>
  readFileSync('/proc/diskstats', 'utf8')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , name = '']) => /^(?:[vsx]?v?d[a-z]|nvme\d+n\d+)$/.test(name))
    .reduce((sum, fields) => sum + 512 * Number(fields[5]), 0);

const byExperts = async () => {
  const counts = values.experts
    .split(',')
    .filter((one) => one !== '')
    .map(Number);
  const models = modelsOf(Math.max(...counts));
  /** @type {(string | number)[][]} */
  const rows = [
    ['experts', 'GB of models', ...names.flatMap((name) => [`${name}: s`, 'GB read', 'private MB'])],
  ];
  for (const count of counts) {
    const taken = models.slice(0, count + 1);
    const file = writeRecipe(
      work,
      'task_arithmetic',
      { experts: count, base: true, each: 'weight: 0.5' },
      taken,
    );
    /** @type {(string | number)[]} */
    const row = [count, (bytesOf(taken) / 1e9).toFixed(2)];
    for (const tool of names) {
      writeFileSync('/proc/sys/vm/drop_caches', '3');
      const before = bytesFromDisks();
      const { seconds, privateBytes } = await tools[tool](file);
      row.push(s(seconds), ((bytesFromDisks() - before) / 1e9).toFixed(2), (privateBytes / 1e6).toFixed(0));
      rmSync(out, { recursive: true });
    }
    rows.push(row);
    process.stderr.write(`${count} experts\n`);
  }
  console.log(`\ntask_arithmetic, page cache dropped\n\n${table(rows)}`);
};

await byMethod();
if (values.experts !== '') await byExperts();
