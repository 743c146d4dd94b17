// @ts-check
// Merges of the size of Llama 3.1 8B beside cp and the peers.
//
//   npm run bench -- [--layers 5] [--repeats 5] [--peer-repeats 2] [--inputs DIR] [--dir DIR] [--python PATH] [--results DIR]
//
// Makes a base and two experts of the exact shapes with as many layers as asked for in --inputs, kept for the next time. Then, in rounds: each
// job's inputs are read into the page cache, memory for its output is made sure of (`prime`), the job runs with its output in --dir, the output is removed. Ratios are of medians, to `cp -r` of one checkpoint
// followed by a sync of its files, as layerloom syncs its own. Without a Python that has mergekit, or torch and safetensors, these are left out and
// said to be.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, statfsSync, statSync, writeFileSync } from 'node:fs';
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
  },
});

const here = (/** @type {string} */ path) => fileURLToPath(new URL(path, import.meta.url));
const cli = here('../dist/cli/main.js');
const layers = Number(values.layers); // 3 at least: two from below, one from above
const counts = ['--bottom', '2', '--top', '1'];

/** `memory`: what it may need, in checkpoints. @typedef {{ name: string, command: string, args: string[], inputs: string[], repeats: number, own: boolean, memory: number, env?: NodeJS.ProcessEnv }} Job */
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

/** @param {string[]} models @returns {Job[]} */
const peers = ([task = '', language = '']) => {
  const jobs = [];
  const common = {
    command: values.python,
    inputs: [task, language],
    repeats: Number(values['peer-repeats']),
    own: false,
    memory: 3,
  };
  if (canImport('torch, safetensors'))
    jobs.push({
      ...common,
      name: 'torch script, layer swap',
      args: [here('peers/swap_torch.py'), task, language, out, '2', '1'],
    });
  else
    console.log(
      `left out: the torch script (${values.python} has no torch and safetensors; name another with --python)`,
    );
  if (canImport('mergekit')) {
    const recipe = join(work, 'linear.yaml');
    const models = [task, language].map((model) => `  - {model: ${model}, parameters: {weight: 1.0}}`);
    writeFileSync(recipe, ['merge_method: linear', 'dtype: bfloat16', 'models:', ...models, ''].join('\n'));
    jobs.push({
      ...common,
      name: 'mergekit linear',
      args: ['-m', 'mergekit.scripts.run_yaml', recipe, out, '--no-copy-tokenizer', '--quiet'],
      env: { HF_HUB_OFFLINE: '1' },
    });
  } else console.log(`left out: mergekit (${values.python} has none; name another with --python)`);
  return jobs;
};

/** The weights of checkpoints, links followed. @param {string[]} inputs */
const filesOf = (inputs) =>
  inputs.flatMap((input) =>
    execFileSync('find', ['-L', input, '-name', '*.safetensors'], { encoding: 'utf8' }).trim().split('\n'),
  );

/** @param {Job[]} jobs @returns {Promise<Map<Job, Cost[]>>} */
const run = async (jobs) => {
  const costs = new Map(jobs.map((job) => /** @type {[Job, Cost[]]} */ ([job, []])));
  for (let round = 0; round < Math.max(...jobs.map(({ repeats }) => repeats)); round += 1) {
    for (const [job, measured] of costs) {
      if (round >= job.repeats) continue;
      const files = filesOf(job.inputs);
      const bytes = files.reduce((total, file) => total + statSync(file).size, 0) / job.inputs.length;
      // Read once more, so that no job finds its inputs colder than another.
      execFileSync('cat', files, { stdio: ['ignore', 'ignore', 'inherit'] });
      prime(work, job.memory * bytes);
      const cost = await measure(job.command, job.args, job.env);
      measured.push(
        job.own
          ? {
              ...cost,
              readBytes: JSON.parse(cost.stdout).bytesRead,
              writtenBytes: JSON.parse(cost.stdout).bytesWritten,
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

const main = async () => {
  const models = makeCheckpoints(values.inputs, layers, ['task', 'language']);
  const [task = '', language = ''] = models;
  const gigabytes = statfsSync(values.dir).bavail * statfsSync(values.dir).bsize;
  console.log(
    `${cpus().length} × ${cpus()[0]?.model}, ${(totalmem() / 1e9).toFixed(0)} GB; outputs in ${values.dir} (${(gigabytes / 1e9).toFixed(0)} GB free)`,
  );

  const first = rowsOf(
    await run([
      copy(task),
      layerloom('layerloom swap, copies', models, [
        'swap',
        '--task',
        task,
        '--lang',
        language,
        ...counts,
        '--link',
        'copy',
      ]),
      layerloom('layerloom soup', models, ['soup', task, language]),
      ...peers(models),
    ]),
  );
  console.log(`\nInputs laid out by size, ${layers} layers`);
  print(first);

  // A phase of its own: laid out by layer, on the file system of the output, inputs and output must fit it together.
  const laidOut = models.map((_, index) => join(work, `by-layer-${index}`));
  for (const [index, model] of models.entries())
    execFileSync(process.execPath, [cli, 'relayout', model, '-o', laidOut[index] ?? '', '-q']);
  const [taskByLayer = '', languageByLayer = ''] = laidOut;
  const linked = ['swap', '--task', taskByLayer, '--lang', languageByLayer, ...counts, '--link', 'hard'];
  const second = rowsOf(
    await run([copy(taskByLayer), layerloom('layerloom swap, hard links', laidOut, linked)]),
  );
  console.log(`\nInputs laid out by layer, on the file system of the output, ${layers} layers`);
  print(second);

  mkdirSync(values.results, { recursive: true });
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, memory: totalmem(), node: process.version };
  writeFileSync(
    join(values.results, 'bench.json'),
    `${JSON.stringify({ layers, dir: values.dir, machine, copies: first, links: second }, null, 2)}\n`,
  );
  const bars = [...first.slice(1), ...second.slice(1)]
    .sort((a, b) => a.ratio - b.ratio)
    .map((row) => ({
      label: row.job,
      value: row.ratio,
      low: row.lowRatio,
      high: row.highRatio,
      own: row.own,
      note: `${row.seconds.toFixed(1)} s, ${Math.round(row.privateBytes / 1e6)} MB`,
    }));
  const title = `Time to merge two checkpoints of ${layers} layers of Llama 3.1 8B`;
  writeFileSync(
    join(values.results, 'bench.svg'),
    drawBars(title, 'in multiples of the time to copy one of them; with seconds and private memory', bars, 4),
  );
  console.log(`\nwritten: ${join(values.results, 'bench.json')} and bench.svg`);
};

await main();
