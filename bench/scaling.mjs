// @ts-check
// Time by number of threads, and a model for more threads than this machine has.
//
//   npm run bench:scaling -- [--threads 1,2] [--model 16,64] [--layers 5] [--full 32] [--repeats 3] [--inputs DIR] [--dir DIR] [--bandwidth GB/s] [--only copy,swap,soup,ties,file,analyze]
//
// Runs each job with each number of threads, alternately; prints medians. Processor time and page faults are
// from GNU time. The model, in seconds for n threads: start + max(work / n, file, memory).
//
// - start: `--dry-run`, in which one thread loads and plans.
// - work: processor time at the most threads measured, without the start.
// - file: writes to one file exclude each other, so the largest file takes its share of the system time.
// - memory: all bytes at --bandwidth, written ones twice, since the kernel first fetches the cache lines.
//
// For --full layers, work grows with the bytes. `of a copy`: bytes that a job reads and writes per second,
// divided by those of `copy`. That job runs `cp` of the swap's output file by file, with one process per
// thread.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeCheckpoints } from './lib/checkpoints.mjs';
import { median, prime } from './lib/measure.mjs';

const tmpfs = existsSync('/dev/shm') ? '/dev/shm' : tmpdir();
const { values } = parseArgs({
  options: {
    threads: {
      type: 'string',
      default: [1, 2, 4, 8, 16, 32, 64].filter((n) => n <= availableParallelism()).join(),
    },
    model: { type: 'string', default: '16,64' },
    layers: { type: 'string', default: '5' },
    repeats: { type: 'string', default: '3' },
    inputs: { type: 'string', default: join(tmpdir(), 'layerloom-bench') },
    dir: { type: 'string', default: tmpfs },
    bandwidth: { type: 'string', default: '200' },
    only: { type: 'string', default: 'copy,swap,soup,ties,file,analyze' },
    full: { type: 'string', default: '32' },
  },
});

const cli = fileURLToPath(new URL('../bin/layerloom.cjs', import.meta.url));
const layers = Number(values.layers);
const work = mkdtempSync(join(values.dir, 'layerloom-scaling-'));
process.on('exit', () => rmSync(work, { recursive: true, force: true }));
const out = join(work, 'out');
const [base = '', task = '', language = ''] = makeCheckpoints(values.inputs, layers, [
  'base',
  'task',
  'language',
]);
const [tuned = '', other = ''] = values.only.includes('ties')
  ? makeCheckpoints(values.inputs, layers, ['tuned-1', 'tuned-2'])
  : [];

/** Bytes of the embedding matrix, and of a layer. */
const matrix = 2 * 128_256 * 4096;
const layer = 2 * (4096 * 4096 * 2 + 1024 * 4096 * 2 + 3 * 14_336 * 4096);
/** @param {number} layers */
const checkpointOf = (layers) => 2 * matrix + layers * layer;

/**
 * `largest`: bytes of the largest written file.
 *
 * @typedef {{ read: number, written: number, largest: number }} Bytes
 */
/**
 * `start`: the command that only loads and plans.
 *
 * @typedef {{ name: string, command: (threads: number) => string[], start?: string[], inputs: string[], bytes: (layers: number) => Bytes }} Job
 */

/** @param {(layers: number) => number} read @returns {(layers: number) => Bytes} */
const merging = (read) => (layers) => ({
  read: read(layers),
  written: checkpointOf(layers),
  largest: matrix,
});

/** @param {string[]} words @param {string} start @returns {Pick<Job, 'command' | 'start'>} */
const layerloom = (words, start = '--dry-run') => {
  const command = [process.execPath, cli, ...words, '-o', out, '-q'];
  return { command: (threads) => [...command, '-j', `${threads}`], start: [...command, start] };
};

const swap = ['swap', '--task', task, '--lang', language, '--bottom', '2', '--top', '1', '--link', 'copy'];
const ties = { method: 'ties', base, models: [tuned, other], weight: 1, density: 0.5 };
const files = join(work, 'files');

/** @type {Record<string, Job>} */
const jobs = {
  copy: {
    name: 'cp, a process a file',
    command: (threads) => [
      ...[
        'sh',
        '-c',
        `mkdir '${out}' && ls '${files}' | xargs -P ${threads} -I {} cp '${files}/{}' '${out}'`,
      ],
    ],
    inputs: [],
    bytes: merging(checkpointOf),
  },
  swap: {
    name: 'swap, copies',
    ...layerloom(swap),
    inputs: [task, language],
    bytes: merging(checkpointOf),
  },
  soup: {
    name: 'soup of two',
    ...layerloom(['soup', task, language]),
    inputs: [task, language],
    bytes: merging((layers) => 2 * checkpointOf(layers)),
  },
  // Reads its inputs twice.
  ties: {
    name: 'TIES of two, density 0.5',
    ...layerloom(['merge', JSON.stringify(ties)]),
    inputs: [base, tuned, other],
    bytes: merging((layers) => 6 * checkpointOf(layers)),
  },
  file: {
    name: 'soup of two into one file',
    ...layerloom(['soup', task, language, '--layout', 'size', '--max-shard-size', '100GB']),
    inputs: [task, language],
    bytes: (layers) => ({
      read: 2 * checkpointOf(layers),
      written: checkpointOf(layers),
      largest: checkpointOf(layers),
    }),
  },
  analyze: {
    name: 'analyze, one expert',
    ...layerloom(['analyze', '--base', base, task], '--help'),
    inputs: [base, task],
    bytes: (layers) => ({ read: 2 * checkpointOf(layers), written: 0, largest: 0 }),
  },
};

/** @typedef {{ wall: number, user: number, system: number, faults: number, switches: number }} Usage */

/** @param {Job} job @param {string[]} command @returns {Usage} */
const run = ({ inputs, bytes }, command) => {
  execFileSync('sh', [
    '-c',
    `cat ${inputs.map((input) => `'${input}'/*`).join(' ')} < /dev/null > /dev/null`,
  ]);
  const { written } = bytes(layers);
  if (written > 0 && values.dir.startsWith('/dev/shm')) prime(work, 1.2 * written);
  const { stderr, status } = spawnSync('/usr/bin/time', ['-f', '%e %U %S %R %w %c', ...command], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(stderr);
  rmSync(out, { recursive: true, force: true });
  const [wall = 0, user = 0, system = 0, faults = 0, waits = 0, taken = 0] = (
    stderr.trim().split('\n').at(-1) ?? ''
  )
    .split(' ')
    .map(Number);
  return { wall, user, system, faults, switches: waits + taken };
};

const counts = values.threads.split(',').map(Number);
const wanted = values.model.split(',').map(Number);
const bandwidth = Number(values.bandwidth) * 1e9;
const full = Number(values.full);
/** @type {Record<string, string | number>[]} */
const rows = [];
/** Bytes per second of the copy job, by model and threads. @type {Record<string, number>} */
const copies = {};
if (values.only.includes('copy')) {
  execFileSync(process.execPath, [cli, ...swap, '-o', files, '-q']);
}
for (const key of values.only.split(',')) {
  const job = jobs[key];
  if (job === undefined) throw new Error(`no job ${key}`);
  /** @type {Map<number, Usage[]>} */
  const runs = new Map(counts.map((threads) => [threads, []]));
  for (let round = 0; round < Number(values.repeats); round += 1)
    for (const [threads, some] of runs) some.push(run(job, job.command(threads)));
  /** @param {number} threads @param {keyof Usage} of */
  const of = (threads, of) => median((runs.get(threads) ?? []).map((usage) => usage[of]));
  const most = counts.at(-1) ?? 1;
  const start = job.start === undefined ? { wall: 0, user: 0, system: 0 } : run(job, job.start);
  const spent = of(most, 'user') + of(most, 'system') - start.user - start.system;
  /** @param {number} layersOf @param {number} threads @param {number} [measured] */
  const row = (layersOf, threads, measured) => {
    const { read, written, largest } = job.bytes(layersOf);
    const here = job.bytes(layers);
    const more = (read + written) / (here.read + here.written);
    const bounds = {
      threads: (more * spent) / threads,
      file: here.written === 0 ? 0 : (of(most, 'system') * largest) / here.written,
      memory: (read + 2 * written) / bandwidth,
    };
    const [bound, seconds] = Object.entries(bounds).sort(([, x], [, y]) => y - x)[0] ?? ['', 0];
    const model = start.wall + seconds;
    const rate = (read + written) / (measured ?? model);
    const at = `${layersOf} ${threads}`;
    if (key === 'copy') copies[at] = rate;
    const copy = copies[at];
    return {
      ...{ job: job.name, layers: layersOf, threads },
      'model s': model.toFixed(2),
      bound: `${bound} ${seconds.toFixed(2)}, start ${start.wall.toFixed(2)}`,
      ...(copy === undefined ? {} : { 'of a copy': (rate / copy).toFixed(2) }),
    };
  };
  for (const threads of counts)
    rows.push({
      ...row(layers, threads, of(threads, 'wall')),
      'wall s': of(threads, 'wall').toFixed(2),
      'user s': of(threads, 'user').toFixed(2),
      'system s': of(threads, 'system').toFixed(2),
      faults: of(threads, 'faults'),
      switches: of(threads, 'switches'),
    });
  for (const threads of wanted) rows.push(row(layers, threads));
  for (const threads of wanted) if (full !== layers) rows.push(row(full, threads));
}
console.table(rows);
