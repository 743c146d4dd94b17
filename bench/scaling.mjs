// @ts-check
// How time falls with threads, and what a model of it says of more threads than this machine has.
//
//   npm run bench:scaling -- [--threads 1,2] [--model 16,64] [--layers 5] [--repeats 3] [--inputs DIR] [--dir DIR] [--bandwidth GB/s] [--only swap,soup,file,analyze]
//
// Each job runs with each number of threads, in turns; medians. Processor time and page faults are what the kernel counted for the process (GNU
// time). The model, in seconds for n threads: start + max(work / n, file, memory). The start is that of `--dry-run`: one thread loads and plans. The work is the
// processor time of the run at the most threads measured, without that of the start. One file: writes to a file exclude each other, so the largest takes
// its share of the system time, however many threads there are. Memory: all bytes at the machine's bandwidth (--bandwidth), what is written twice, since the
// kernel fetches the lines that it writes.
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
    only: { type: 'string', default: 'swap,soup,file,analyze' },
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

/** One matrix of the embeddings, and a checkpoint of so many layers, in bytes. */
const matrix = 2 * 128_256 * 4096;
const layer = 2 * (4096 * 4096 * 2 + 1024 * 4096 * 2 + 3 * 14_336 * 4096);
const checkpoint = 2 * matrix + layers * layer;

/** `read` and `written`: bytes; `largest`: those of the largest file that is written. @typedef {{ name: string, args: string[], inputs: string[], read: number, written: number, largest: number }} Job */

/** @type {Record<string, Job>} */
const jobs = {
  swap: {
    name: 'swap, copies',
    args: ['swap', '--task', task, '--lang', language, '--bottom', '2', '--top', '1', '--link', 'copy'],
    inputs: [task, language],
    read: 4 * matrix + layers * layer,
    written: checkpoint,
    largest: matrix,
  },
  soup: {
    name: 'soup of two',
    args: ['soup', task, language],
    inputs: [task, language],
    read: 2 * checkpoint,
    written: checkpoint,
    largest: matrix,
  },
  file: {
    name: 'soup of two into one file',
    args: ['soup', task, language, '--layout', 'size', '--max-shard-size', '100GB'],
    inputs: [task, language],
    read: 2 * checkpoint,
    written: checkpoint,
    largest: checkpoint,
  },
  analyze: {
    name: 'analyze, one expert',
    args: ['analyze', '--base', base, task],
    inputs: [base, task],
    read: 2 * checkpoint,
    written: 0,
    largest: 0,
  },
};

/** @typedef {{ wall: number, user: number, system: number, faults: number, switches: number }} Usage */

/** @param {Job} job @param {number} threads @returns {Usage} */
const run = ({ args, inputs, written }, threads) => {
  execFileSync('sh', ['-c', `cat ${inputs.map((input) => `'${input}'/*`).join(' ')} > /dev/null`]);
  if (written > 0 && values.dir.startsWith('/dev/shm')) prime(work, 1.2 * written);
  const command = [
    '-f',
    '%e %U %S %R %w %c',
    process.execPath,
    cli,
    ...args,
    '-o',
    out,
    '-q',
    '-j',
    `${threads}`,
  ];
  const { stderr, status } = spawnSync('/usr/bin/time', command, { encoding: 'utf8' });
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
/** @type {Record<string, string | number>[]} */
const rows = [];
for (const key of values.only.split(',')) {
  const job = jobs[key];
  if (job === undefined) throw new Error(`no job ${key}`);
  /** @type {Map<number, Usage[]>} */
  const runs = new Map(counts.map((threads) => [threads, []]));
  for (let round = 0; round < Number(values.repeats); round += 1)
    for (const [threads, some] of runs) some.push(run(job, threads));
  /** @param {number} threads @param {keyof Usage} of */
  const of = (threads, of) => median((runs.get(threads) ?? []).map((usage) => usage[of]));
  for (const threads of counts)
    rows.push({
      job: job.name,
      threads,
      'wall s': of(threads, 'wall').toFixed(2),
      speedup: (of(counts[0] ?? 1, 'wall') / of(threads, 'wall')).toFixed(2),
      'user s': of(threads, 'user').toFixed(2),
      'system s': of(threads, 'system').toFixed(2),
      faults: of(threads, 'faults'),
      switches: of(threads, 'switches'),
    });
  const most = counts.at(-1) ?? 1;
  const start = run({ ...job, args: [...job.args, ...(job.written > 0 ? ['--dry-run'] : ['--help'])] }, 1);
  const work = of(most, 'user') + of(most, 'system') - start.user - start.system;
  const file = job.written === 0 ? 0 : (of(most, 'system') * job.largest) / job.written;
  const memory = (job.read + 2 * job.written) / bandwidth;
  for (const threads of [...counts, ...wanted]) {
    const bounds = { threads: work / threads, file, memory };
    const [bound, seconds] = Object.entries(bounds).sort(([, x], [, y]) => y - x)[0] ?? ['', 0];
    const model = start.wall + seconds;
    const measured = rows.find((row) => row['job'] === job.name && row['threads'] === threads);
    const modelled = {
      'model s': model.toFixed(2),
      bound: `${bound} ${seconds.toFixed(2)}, start ${start.wall.toFixed(2)}`,
    };
    if (measured === undefined) rows.push({ job: job.name, threads, ...modelled });
    else Object.assign(measured, modelled);
  }
}
console.table(rows);
