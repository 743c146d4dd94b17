// @ts-check
// The cost of commands in this tree and at another commit, in seconds, compared with cp.
//
//   npm run bench:before -- COMMIT [--layers 2] [--vocabulary 128256] [--rounds 5] [--only NAME]... [--inputs DIR]
//     [--dir DIR] [--tree DIR]
//
// `--only` takes names of jobs, and `methods` for a merge by each method. Makes models with the shapes of
// Llama 3.1 8B in --inputs, with at least 2 layers, and builds the commit in --tree; keeps both. Jobs are
// grouped by inputs. Each round reads a group's inputs into the page cache, copies one of them to --dir by
// `cp -r`, and runs each job in both trees, alternating the order.
//
// Prints medians with range, processor seconds and peak private memory. Exits with 1 if the trees wrote
// different bytes. On a busy machine use `bench:work`, which counts.
import { createHash } from 'node:crypto';
import {
  createReadStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { makeCheckpoints, makeVocabularies } from './lib/checkpoints.mjs';
import { measure, median, prime } from './lib/measure.mjs';
import { methodJobs, writeRecipe } from './lib/method-jobs.mjs';
import { makeSmallCheckpoints } from './lib/small-checkpoints.mjs';
import { here, treeAt } from './lib/tree-of.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    layers: { type: 'string', default: '2' },
    vocabulary: { type: 'string', default: '128256' },
    rounds: { type: 'string', default: '5' },
    only: { type: 'string', multiple: true, default: [] },
    inputs: { type: 'string', default: join(tmpdir(), 'layerloom-bench-before') },
    dir: { type: 'string', default: existsSync('/dev/shm') ? '/dev/shm' : tmpdir() },
    tree: { type: 'string', default: join(tmpdir(), 'layerloom-work') },
  },
});
const layers = Number(values.layers);
const { commit, tree } = treeAt(positionals[0] ?? 'HEAD', values.tree);
const trees = [tree, here];

const work = mkdtempSync(join(values.dir, 'layerloom-before-'));
process.on('exit', () => rmSync(work, { recursive: true, force: true }));
for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => process.exit(1));
const out = join(work, 'out');

/** @param {string} name @param {string[]} lines */
const file = (name, lines) => {
  const path = join(work, name);
  writeFileSync(path, [...lines, ''].join('\n'));
  return path;
};

/**
 * A command: its words after `node`, in a tree. A `quick` job runs five times as often.
 *
 * @typedef {{ name: string, words: (tree: string) => string[], quick?: true }} Job
 */

/** @param {string} name @param {string[]} args @returns {Job} */
const command = (name, args) => ({
  name,
  words: (of) => [join(of, 'bin/layerloom.cjs'), ...args, '-q'],
});
/** @param {Job} job @returns {Job} */
const quick = (job) => ({ ...job, quick: true });

/**
 * @param {string[]} models base and two experts @param {string} method @param {string[]} lines @returns {Job}
 */
const merge = ([base = '', ...experts], method, ...lines) => {
  const models = experts.map((model) => `  - { model: ${model}, weight: 1 }`);
  const recipe = file(`${method}-${lines.join('-').replaceAll(/[^\w.]/g, '')}.yaml`, [
    ...[`method: ${method}`, `base: ${base}`, 'models:', ...models, ...lines],
  ]);
  return command(`${method}, ${lines.join(', ')}`, ['merge', recipe, '-o', out]);
};

/** @param {string} task @param {string} language @param {string[]} [more] */
const swap = (task, language, more = []) => [
  ...['swap', '--task', task, '--lang', language, '--bottom', '1', '--top', '1', '-o', out, ...more],
];

const small = join(values.inputs, 'small');
/** @type {{ title: string, make: () => string[], jobs: (models: string[]) => Job[] }[]} */
const groups = [
  {
    title: 'experts with few changes',
    make: () =>
      makeCheckpoints(values.inputs, layers, ['base', 'task', 'language'], Number(values.vocabulary)),
    jobs: (models) => {
      const [base = '', task = '', language = ''] = models;
      const experiment = file('experiment.yaml', [
        `base: ${base}`,
        `tasks: { math: ${task} }`,
        `languages: { swahili: { swh: ${language} } }`,
        'merges:',
        '  - { name: swap, method: layer_swap, bottom: 1, top: 1 }',
      ]);
      return [
        command('swap', swap(task, language)),
        command('soup', ['soup', task, language, '-o', out]),
        merge(models, 'ties', 'density: 0.5'),
        command('batch of one swap', ['batch', experiment, '-o', out]),
        command('swap --checksums', swap(task, language, ['--checksums'])),
      ];
    },
  },
  {
    // Changes of up to 8 units.
    title: 'methods',
    make: () =>
      makeCheckpoints(values.inputs, layers, ['base', 'tuned-1', 'tuned-2'], Number(values.vocabulary)),
    jobs: (models) =>
      Object.entries(methodJobs).map(([name, job]) =>
        command(name, ['merge', writeRecipe(work, name, job, models.slice(0, job.experts + 1)), '-o', out]),
      ),
  },
  {
    // A small vocabulary, so that ten models fit into the page cache.
    title: 'analyses',
    make: () =>
      makeCheckpoints(
        join(values.inputs, 'analyses'),
        layers,
        ['base', ...Array.from({ length: 9 }, (_, at) => `tuned-${at + 1}`)],
        2048,
      ),
    jobs: ([base = '', ...experts]) =>
      [1, 3, 9].map((count) =>
        command(`analyze, ${count} of them`, [
          'analyze',
          '--base',
          base,
          ...experts.slice(0, count),
          '-o',
          out,
        ]),
      ),
  },
  {
    title: 'two vocabularies',
    make: () => makeVocabularies(join(values.inputs, 'tokens'), layers),
    jobs: ([first = '', same = '', more = '']) => [
      command('swap, one vocabulary', swap(first, same)),
      command('swap, union', swap(first, more)),
    ],
  },
  {
    title: 'small models',
    make: () => {
      const shape = {
        layers: 4,
        vocabulary: 1024,
        sizes: { hidden: 256, inner: 512, keyValue: 64, heads: /** @type {[number, number]} */ ([4, 1]) },
      };
      makeSmallCheckpoints(small, ['base', 'math', 'swh'], shape);
      return ['base', 'math', 'swh'].map((name) => join(small, name));
    },
    jobs: ([, math = '', swh = '']) => [
      quick({ name: 'node -e 0', words: () => ['-e', '0'] }),
      quick({
        name: "import 'layerloom'",
        words: (of) => {
          // Before the package was bundled, its modules were imported.
          const main = ['dist/layerloom.js', 'dist/index.js'].map((path) => join(of, path)).find(existsSync);
          return ['-e', `import(${JSON.stringify(pathToFileURL(main ?? '').href)})`];
        },
      }),
      quick(command('swap --dry-run', swap(math, swh, ['--dry-run']))),
      quick(command('swap', swap(math, swh))),
    ],
  },
];

/** Hashes a command's output, except records, which contain times. */
const written = async () => {
  if (!existsSync(out)) return '';
  const hash = createHash('sha256');
  const names = readdirSync(out, { recursive: true, encoding: 'utf8' });
  for (const name of names
    .filter((one) => /\.(safetensors|csv)$/.test(one) && !one.includes('.store'))
    .sort()) {
    hash.update(name);
    for await (const part of createReadStream(join(out, name))) hash.update(part);
  }
  return hash.digest('hex');
};

/** @typedef {{ costs: import('./lib/measure.mjs').Cost[], hash: string }} Measured */

/** @param {Measured} measured @param {number} unit */
const columns = ({ costs }, unit) => {
  const seconds = costs.map((cost) => cost.seconds);
  const middle = median(seconds);
  const processor = median(costs.map((cost) => cost.processorSeconds));
  const most = Math.max(...costs.map((cost) => cost.privateBytes));
  const digits = middle < 1 ? 3 : 2;
  const [low, high] = [Math.min(...seconds), Math.max(...seconds)].map((one) => one.toFixed(digits));
  return `${middle.toFixed(digits)} (${low}–${high}) | ${(middle / unit).toFixed(2)} | ${processor.toFixed(2)} | ${Math.round(most / 1e6)}`;
};

for (const { title, make, jobs } of groups) {
  const isChosen = (/** @type {Job} */ { name }) =>
    values.only.length === 0 || values.only.includes(name) || values.only.includes(title);
  if (!jobs([]).some(isChosen)) continue;
  mkdirSync(values.inputs, { recursive: true });
  const models = make();
  const chosen = jobs(models).filter(isChosen);
  const files = models.flatMap((model) =>
    readdirSync(model)
      .filter((name) => name.endsWith('.safetensors'))
      .map((name) => join(model, name)),
  );
  /** @type {import('./lib/measure.mjs').Cost[]} */
  const copies = [];
  const found = new Map(
    chosen.map((job) => [job, trees.map(() => /** @type {Measured} */ ({ costs: [], hash: '' }))]),
  );
  for (let round = 0; round < Number(values.rounds); round += 1) {
    // So that every job finds its inputs in the page cache.
    for (const path of files)
      for await (const part of createReadStream(path, { highWaterMark: 2 ** 22 })) void part;
    prime(work, layers * 0.5e9 + 2.5e9);
    copies.push(await measure('sh', ['-c', 'cp -r "$0" "$1" && sync "$1"/*', models[0] ?? '', out]));
    rmSync(out, { recursive: true });
    for (const [job, both] of found)
      for (let turn = 0; turn < trees.length * (job.quick ? 5 : 1); turn += 1) {
        const index = (turn + round) % trees.length;
        const measured = both[index];
        if (measured === undefined) continue;
        measured.costs.push(await measure(process.execPath, job.words(trees[index] ?? '')));
        if (round === 0) measured.hash = await written();
        rmSync(out, { recursive: true, force: true });
      }
  }
  const unit = median(copies.map(({ seconds }) => seconds));
  const of = `${commit.slice(0, 7)}`;
  console.log(
    `\n| ${title}; cp ${unit.toFixed(2)} s | ${of}: s | × cp | processor s | private MB | now: s | × cp | processor s | private MB | bytes |`,
  );
  console.log('| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |');
  for (const [{ name }, [before, now]] of found) {
    if (before === undefined || now === undefined) continue;
    const isEqual = before.hash === now.hash;
    if (!isEqual) process.exitCode = 1;
    console.log(
      `| ${name} | ${columns(before, unit)} | ${columns(now, unit)} | ${isEqual ? 'equal' : '**differ**'} |`,
    );
  }
}
