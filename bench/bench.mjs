// @ts-check
// Merges and analyses of the size of Llama 3.1 8B, compared with cp and peers.
//
//   npm run bench -- [--layers 5] [--repeats 5] [--peer-repeats 2] [--inputs DIR] [--dir DIR] [--python PATH] [--results DIR]
//                    [--only copies,links,methods,batch,analysis] [--cold]
//
// Makes a base and experts with the exact shapes and at least 3 layers in --inputs, and keeps them. Each
// round reads a job's inputs into the page cache, or with --cold drops them, and reserves memory for its
// output (`prime`). Then it runs the job with output in --dir, and removes the output. Ratios are of medians,
// to `cp -r` of one checkpoint and a sync of its files, since layerloom syncs too. Skips peers that the
// Python lacks (mergekit, or torch and safetensors), with a message.
import { execFileSync, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  renameSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { drawBars } from './lib/chart.mjs';
import { makeCheckpoints } from './lib/checkpoints.mjs';
import { measure, median, prime } from './lib/measure.mjs';

const tmpfs = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const { values } = parseArgs({
  options: {
    layers: { type: 'string', default: '5' },
    repeats: { type: 'string', default: '5' },
    'peer-repeats': { type: 'string', default: '2' },
    inputs: { type: 'string', default: join(tmpdir(), 'layerloom-bench') },
    dir: { type: 'string', default: tmpfs },
    python: { type: 'string', default: process.env['LAYERLOOM_PYTHON'] ?? 'python3' },
    results: { type: 'string', default: fileURLToPath(new URL('results', import.meta.url)) },
    only: { type: 'string', default: 'copies,links,methods,batch,analysis' },
    cold: { type: 'boolean', default: false },
  },
});

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
const cli = here('../bin/layerloom.cjs');
const layers = Number(values.layers);
const phases = values.only.split(',');
const onTmpfs = values.dir.startsWith('/dev/shm');
const counts = ['--bottom', '2', '--top', '1'];

/**
 * `memory`: its need, in checkpoints.
 *
 * @typedef {{ name: string, command: string, args: string[], inputs: string[], repeats: number, own: boolean, memory: number, env?: NodeJS.ProcessEnv }} Job
 */
/** @typedef {import('./lib/measure.mjs').Cost} Cost */

const work = mkdtempSync(join(values.dir, 'layerloom-bench-'));
process.on('exit', () => rmSync(work, { recursive: true, force: true }));
const out = join(work, 'out');

const canImport = (/** @type {string} */ modules) =>
  spawnSync(values.python, ['-c', `import ${modules}`]).status === 0;

/** @param {string} checkpoint @returns {Job} */
const copy = (checkpoint) => ({
  name: 'cp -r of one checkpoint',
  command: 'sh',
  args: ['-c', 'cp -r "$0" "$1" && sync "$1"/*', checkpoint, out],
  inputs: [checkpoint],
  repeats: Number(values.repeats),
  own: false,
  memory: 1.5,
});

/** @param {string} name @param {string[]} inputs @param {string[]} args @returns {Job} */
const layerloom = (name, inputs, args) => ({
  name,
  command: process.execPath,
  args: [cli, ...args, '-o', out, '--json'],
  inputs,
  repeats: Number(values.repeats),
  own: true,
  memory: 1.5,
});

const hasTorch = canImport('torch, safetensors');
const hasMergekit = canImport('mergekit');
if (!hasTorch)
  console.log(
    `left out: the torch scripts (${values.python} has no torch and safetensors; name another with --python)`,
  );
if (!hasMergekit) console.log(`left out: mergekit (${values.python} has none; name another with --python)`);

/** @param {string} name @param {string[]} inputs @param {string[]} args @returns {Job} */
const peer = (name, inputs, args) => ({
  name,
  command: values.python,
  args,
  inputs,
  repeats: Number(values['peer-repeats']),
  own: false,
  memory: 3,
  env: { HF_HUB_OFFLINE: '1' },
});

/** A mergekit recipe, for both programs. @param {string} name @param {string[]} lines */
const recipe = (name, lines) => {
  const file = join(work, `${name}.yaml`);
  writeFileSync(file, [...lines, ''].join('\n'));
  return file;
};

/** @param {string} name @param {string} file @param {string[]} inputs @returns {Job[]} */
const mergekit = (name, file, inputs) =>
  hasMergekit
    ? [peer(name, inputs, ['-m', 'mergekit.scripts.run_yaml', file, out, '--no-copy-tokenizer', '--quiet'])]
    : [];

/** @param {string[]} models @returns {Job[]} */
const mergingPeers = (models) => {
  const [task = '', language = ''] = models;
  const terms = models.map((model) => `  - {model: ${model}, parameters: {weight: 1.0}}`);
  const linear = recipe('linear', ['merge_method: linear', 'dtype: bfloat16', 'models:', ...terms]);
  const script = [here('peers/swap_torch.py'), task, language, out, '2', '1'];
  return [
    ...(hasTorch ? [peer('torch script, layer swap', models, script)] : []),
    ...mergekit('mergekit linear', linear, models),
  ];
};

/** The weights files of checkpoints, links followed. @param {string[]} inputs */
const filesOf = (inputs) =>
  inputs.flatMap((input) =>
    execFileSync('find', ['-L', input, '-name', '*.safetensors'], { encoding: 'utf8' }).trim().split('\n'),
  );

/** Parses a command's result; a batch's is its last event. @param {string} stdout */
const resultOf = (stdout) =>
  JSON.parse(stdout.startsWith('{"event"') ? (stdout.trim().split('\n').at(-1) ?? '') : stdout);

/** @param {Job[]} jobs @returns {Promise<Map<Job, Cost[]>>} */
const run = async (jobs) => {
  const costs = new Map(jobs.map((job) => /** @type {[Job, Cost[]]} */ ([job, []])));
  for (let round = 0; round < Math.max(...jobs.map(({ repeats }) => repeats)); round += 1) {
    for (const [job, measured] of costs) {
      if (round >= job.repeats) continue;
      const files = filesOf(job.inputs);
      const bytes = files.reduce((total, file) => total + statSync(file).size, 0) / job.inputs.length;
      // Read again, so that every job finds its inputs in the page cache.
      if (!values.cold) execFileSync('cat', files, { stdio: ['ignore', 'ignore', 'inherit'] });
      else
        for (const file of files)
          execFileSync('dd', [`if=${file}`, 'iflag=nocache', 'count=0', 'status=none']);
      if (onTmpfs) prime(work, job.memory * bytes);
      const cost = await measure(job.command, job.args, job.env);
      measured.push(
        job.own
          ? {
              ...cost,
              readBytes: resultOf(cost.stdout).bytesRead,
              writtenBytes: resultOf(cost.stdout).bytesWritten ?? 0,
            }
          : cost,
      );
      process.stderr.write(`${job.name}: ${cost.seconds.toFixed(2)} s\n`);
      rmSync(out, { recursive: true, force: true });
    }
  }
  return costs;
};

/** @param {Map<Job, Cost[]>} costs */
const rowsOf = (costs) => {
  const [[, reference] = [undefined, []]] = [...costs];
  const unit = median(reference.map(({ seconds }) => seconds));
  return [...costs].map(([job, measured]) => {
    const seconds = measured.map((cost) => cost.seconds);
    const of = (/** @type {'privateBytes' | 'readBytes' | 'writtenBytes'} */ key) =>
      median(measured.map((cost) => cost[key]));
    return {
      job: job.name,
      own: job.own,
      seconds: median(seconds),
      low: Math.min(...seconds),
      high: Math.max(...seconds),
      runs: seconds.length,
      ratio: median(seconds) / unit,
      lowRatio: Math.min(...seconds) / unit,
      highRatio: Math.max(...seconds) / unit,
      privateBytes: of('privateBytes'),
      readBytes: of('readBytes'),
      writtenBytes: of('writtenBytes'),
    };
  });
};

/** @param {ReturnType<typeof rowsOf>} rows */
const print = (rows) =>
  console.table(
    rows.map((row) => ({
      job: row.job,
      'median s': row.seconds.toFixed(2),
      'min–max': `${row.low.toFixed(2)}–${row.high.toFixed(2)}`,
      runs: row.runs,
      '× cp': row.ratio.toFixed(2),
      'private MB': Math.round(row.privateBytes / 1e6),
      'GB read': (row.readBytes / 1e9).toFixed(2),
      'GB written': (row.writtenBytes / 1e9).toFixed(2),
    })),
  );

const copies = async () => {
  const models = makeCheckpoints(values.inputs, layers, ['task', 'language']);
  const [task = '', language = ''] = models;
  const swap = ['swap', '--task', task, '--lang', language, ...counts, '--link', 'copy'];
  return await run([
    copy(task),
    layerloom('layerloom swap, copies', models, swap),
    layerloom('layerloom soup', models, ['soup', task, language]),
    ...mergingPeers(models),
  ]);
};

/** Inputs laid out by layer, on the output's file system, which must hold both. */
const links = async () => {
  const models = makeCheckpoints(values.inputs, layers, ['task', 'language']);
  const laidOut = models.map((model, index) => {
    const directory = join(work, `by-layer-${index}`);
    execFileSync(process.execPath, [cli, 'relayout', model, '-o', directory, '-q']);
    return directory;
  });
  const [task = '', language = ''] = laidOut;
  const swap = ['swap', '--task', task, '--lang', language, ...counts, '--link', 'hard'];
  const costs = await run([copy(task), layerloom('layerloom swap, hard links', laidOut, swap)]);
  for (const directory of laidOut) rmSync(directory, { recursive: true });
  return costs;
};

/** Methods with statistics of whole tensors. */
const methods = async () => {
  const inputs = makeCheckpoints(values.inputs, layers, ['base', 'tuned-1', 'tuned-2']);
  const [base = '', first = '', second = ''] = inputs;
  const experts = [first, second];
  const ties = recipe('ties', [
    'merge_method: ties',
    `base_model: ${base}`,
    'models:',
    ...experts.map((model) => `  - {model: ${model}, parameters: {weight: 1.0, density: 0.5}}`),
    'dtype: bfloat16',
  ]);
  const slerp = recipe('slerp', [
    'merge_method: slerp',
    `base_model: ${first}`,
    `models: [{model: ${first}}, {model: ${second}}]`,
    'parameters: {t: 0.4}',
    'dtype: bfloat16',
  ]);
  const stock = recipe('model_stock', [
    'merge_method: model_stock',
    `base_model: ${base}`,
    `models: [{model: ${first}}, {model: ${second}}]`,
    'dtype: bfloat16',
  ]);
  return await run([
    copy(first),
    layerloom('layerloom ties', inputs, ['merge', ties]),
    layerloom('layerloom slerp', experts, ['merge', slerp]),
    layerloom('layerloom model_stock', inputs, ['merge', stock]),
    ...mergekit('mergekit ties', ties, inputs),
  ]);
};

/**
 * Four merges of two task and two language experts over one store, compared with a copy of the store's final
 * content.
 */
const batch = async () => {
  const names = ['tuned-1', 'tuned-2', 'tuned-3', 'tuned-4'];
  const inputs = makeCheckpoints(values.inputs, layers, names);
  const [a = '', b = '', c = '', d = ''] = inputs;
  const experiment = recipe('experiment', [
    `tasks: {math-1: ${a}, math-2: ${b}}`,
    `languages: {swahili: {swh-1: ${c}, swh-2: ${d}}}`,
    'merges: [{name: default, method: layer_swap, bottom: 2, top: 1}]',
  ]);
  const own = layerloom('layerloom batch, four merges', inputs, ['batch', experiment]);
  execFileSync(process.execPath, [cli, 'batch', experiment, '-o', out, '-q']);
  const kept = join(work, 'distinct');
  renameSync(join(out, '.store', 'shards'), kept);
  rmSync(out, { recursive: true });
  const distinct = {
    ...copy(kept),
    name: 'cp -r of the distinct bytes',
    args: ['-c', 'cp -r "$0" "$1" && sync "$1"/*/*', kept, out],
  };
  const swap = (/** @type {string} */ task, /** @type {string} */ language) => {
    const slice = (/** @type {number} */ from, /** @type {number} */ to, /** @type {number} */ weight) => [
      '  - sources:',
      `    - {model: ${task}, layer_range: [${from}, ${to}], parameters: {weight: [{filter: embed_tokens, value: 1}, {filter: lm_head, value: 1}, {filter: model.norm, value: 1}, {value: ${weight}}]}}`,
      `    - {model: ${language}, layer_range: [${from}, ${to}], parameters: {weight: [{filter: embed_tokens, value: 1}, {filter: lm_head, value: 1}, {filter: model.norm, value: 1}, {value: ${1 - weight}}]}}`,
    ];
    return [
      'merge_method: linear',
      'dtype: bfloat16',
      'slices:',
      ...slice(0, 2, 0),
      ...slice(2, layers - 1, 1),
      ...slice(layers - 1, layers, 0),
    ];
  };
  const costs = await run([
    distinct,
    own,
    ...mergekit('mergekit, one of the merges', recipe('swap-1', swap(a, c)), [a, c]),
    ...mergekit('mergekit, another one', recipe('swap-2', swap(b, d)), [b, d]),
  ]);
  rmSync(kept, { recursive: true });
  return costs;
};

const analysis = async () => {
  const [base = '', ...experts] = makeCheckpoints(values.inputs, layers, [
    'base',
    'task',
    'language',
    'third',
  ]);
  const [first = ''] = experts;
  const script = [here('peers/mav_torch.py'), base, first, out];
  return await run([
    copy(first),
    layerloom('layerloom analyze, one expert', [base, first], ['analyze', '--base', base, first]),
    layerloom(
      'layerloom analyze, three experts',
      [base, ...experts],
      ['analyze', '--base', base, ...experts],
    ),
    ...(hasTorch ? [peer('torch script, row MAV', [base, first], script)] : []),
  ]);
};

const main = async () => {
  const free = statfsSync(values.dir).bavail * statfsSync(values.dir).bsize;
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, memory: totalmem(), node: process.version };
  console.log(
    `${machine.cores} × ${machine.cpu}, ${(machine.memory / 1e9).toFixed(0)} GB; ${layers} layers, inputs ${values.cold ? 'cold' : 'warm'}, outputs in ${values.dir} (${(free / 1e9).toFixed(0)} GB free)`,
  );
  const all = { copies, links, methods, batch, analysis };
  /** @type {Record<string, ReturnType<typeof rowsOf>>} */
  const results = {};
  for (const [phase, measured] of Object.entries(all)) {
    if (!phases.includes(phase)) continue;
    const rows = rowsOf(await measured());
    results[phase] = rows;
    console.log(`\n${phase}`);
    print(rows);
  }

  mkdirSync(values.results, { recursive: true });
  writeFileSync(
    join(values.results, 'bench.json'),
    `${JSON.stringify({ layers, cold: values.cold, dir: values.dir, machine, ...results }, null, 2)}\n`,
  );
  const bars = Object.values(results)
    .flatMap((rows) => rows.slice(1))
    .sort((a, b) => a.ratio - b.ratio)
    .map((row) => ({
      label: row.job,
      value: row.ratio,
      low: row.lowRatio,
      high: row.highRatio,
      own: row.own,
      note: `${row.seconds.toFixed(1)} s, ${Math.round(row.privateBytes / 1e6)} MB`,
    }));
  const title = `Checkpoints of ${layers} layers of Llama 3.1 8B`;
  const subtitle = 'time in multiples of copying one checkpoint; seconds, and private memory';
  writeFileSync(join(values.results, 'bench.svg'), drawBars(title, subtitle, bars, 4));
  console.log(`\nwritten: ${join(values.results, 'bench.json')} and bench.svg`);
};

await main();
