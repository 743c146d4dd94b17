// @ts-check
// Compares ways to read inputs and write outputs; the engine's were chosen by this.
//
//   npm run bench:strategies -- [--gigabytes 4.3] [--repeats 3] [--inputs DIR] [--memory DIR] [--disk DIR] [--only PART]
//
// Two input files, with output in --memory (a tmpfs) or on --disk. The ways of a group alternate; prints
// medians. bench/native/strategies.cpp runs one way and explains the words.
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { median, prime } from './lib/measure.mjs';

const { values } = parseArgs({
  options: {
    gigabytes: { type: 'string', default: '4.3' },
    repeats: { type: 'string', default: '3' },
    inputs: { type: 'string', default: join(tmpdir(), 'layerloom-strategies') },
    memory: { type: 'string', default: existsSync('/dev/shm') ? '/dev/shm' : tmpdir() },
    disk: { type: 'string', default: tmpdir() },
    only: { type: 'string', default: '' },
  },
});

const program = fileURLToPath(new URL('../native/build/strategies', import.meta.url));

/** @type {{ title: string, from?: 'memory', on: 'memory' | 'disk', ways: string[] }[]} */
const groups = [
  {
    title: 'average, warm, to memory: how to read and write',
    on: 'memory',
    ways: [
      'average-populate-pwrite',
      'average-map-pwrite',
      'average-pread-pwrite',
      'average-populate-mapped',
      'average-pread-mapped',
      'average-populate-nowhere',
    ],
  },
  {
    title: 'copy, warm, to memory: how to read and write',
    on: 'memory',
    ways: ['copy-pread-pwrite', 'copy-populate-pwrite', 'copy-map-pwrite', 'copy-populate-mapped'],
  },
  {
    title: 'copy within memory: how to read and write',
    from: 'memory',
    on: 'memory',
    ways: [
      'copy-kernel-',
      'copy-kernel- files=1',
      'copy-pread-pwrite',
      'copy-populate-pwrite',
      'copy-populate-mapped',
    ],
  },
  {
    title: 'average, warm, to memory: files and threads',
    on: 'memory',
    ways: [
      'average-populate-pwrite threads=2 files=2',
      'average-populate-pwrite threads=2 files=1',
      'average-populate-pwrite threads=2 files=8',
      'average-populate-pwrite threads=1 files=1',
      'average-populate-pwrite threads=4 files=4',
    ],
  },
  {
    title: 'average, warm, to memory: slices and tiles',
    on: 'memory',
    ways: [
      'average-populate-pwrite slice=8 tile=256',
      'average-populate-pwrite slice=1 tile=256',
      'average-populate-pwrite slice=64 tile=256',
      'average-populate-pwrite slice=512 tile=256',
      'average-populate-pwrite slice=8 tile=64',
      'average-populate-pwrite slice=8 tile=1024',
      'average-populate-pwrite slice=8 tile=8192',
    ],
  },
  {
    title: 'average, warm, to memory: preparing the file',
    on: 'memory',
    ways: ['truncate', 'none', 'allocate'].map((how) => `average-populate-pwrite prepare=${how}`),
  },
  {
    title: 'average, warm, to disk and synced: preparing and writing behind',
    on: 'disk',
    ways: [
      'average-populate-pwrite sync',
      'average-populate-pwrite sync prepare=allocate',
      'average-populate-pwrite sync behind=16',
      'average-populate-pwrite sync behind=128',
      'average-populate-mapped sync',
      'copy-kernel- sync',
      'copy-pread-pwrite sync',
    ],
  },
  {
    title: 'average, inputs cold, to disk and synced: reading ahead',
    on: 'disk',
    ways: [
      'average-populate-pwrite sync cold',
      'average-populate-pwrite sync cold ahead=16',
      'average-populate-pwrite sync cold ahead=64',
      'average-map-pwrite sync cold',
      'average-pread-pwrite sync cold',
      'average-populate-pwrite sync cold slice=64',
      'average-populate-pwrite sync cold threads=4 files=4',
    ],
  },
  {
    title: 'queues, inputs cold, written nowhere: io_uring and O_DIRECT',
    on: 'disk',
    ways: [
      'average-map-nowhere cold',
      'average-sequential-nowhere cold',
      'average-populate-nowhere cold',
      'average-willneed-nowhere cold',
      'average-pread-nowhere cold tile=1024',
      'average-uring-nowhere cold tile=1024 depth=8',
      'average-uring-nowhere cold tile=1024 depth=32',
      'average-pread-nowhere cold tile=1024 direct threads=16 files=2',
      'average-uring-nowhere cold tile=1024 direct depth=8',
      'average-uring-nowhere cold tile=1024 direct depth=32',
    ],
  },
  {
    title: 'queues, inputs cold, to disk and synced: io_uring and O_DIRECT',
    on: 'disk',
    ways: [
      'average-map-pwrite sync cold behind=16 tile=1024',
      'average-sequential-pwrite sync cold behind=16 tile=1024',
      'average-map-pwrite sync cold direct-out tile=1024',
      'average-uring-pwrite sync cold behind=16 tile=1024 depth=8',
      'average-pread-pwrite sync cold behind=16 tile=1024 direct threads=16 files=2',
      'average-uring-pwrite sync cold behind=16 tile=1024 direct depth=8',
      'average-uring-pwrite sync cold behind=16 tile=1024 direct depth=32',
      'average-uring-pwrite sync cold tile=1024 direct direct-out depth=8',
    ],
  },
  {
    title: 'queues, inputs warm, to memory: io_uring and O_DIRECT',
    on: 'memory',
    ways: [
      'average-map-pwrite tile=1024',
      'average-sequential-pwrite tile=1024',
      'average-uring-pwrite tile=1024 depth=8',
      'average-uring-pwrite tile=1024 direct depth=8',
    ],
  },
];

/** Writes `bytes` bytes of weights. @param {string} path @param {number} bytes @param {number} seed */
const makeInput = (path, bytes, seed) => {
  if (existsSync(path) && statSync(path).size === bytes) return;
  const block = new Uint16Array(8 * 1024 * 1024).map((_, at) => 0x3c00 + ((at * 37 + seed) & 1023));
  const file = openSync(path, 'w');
  const whole = new Uint8Array(block.buffer);
  for (let left = bytes; left > 0; left -= whole.length)
    writeSync(file, whole, 0, Math.min(left, whole.length));
  closeSync(file);
};

const bytes = Math.round((Number(values.gigabytes) * 1e9) / 2 ** 20) * 2 ** 20;
const names = ['a', 'b'];

/** @param {string} directory */
const makeInputs = (directory) => {
  mkdirSync(directory, { recursive: true });
  for (const [seed, name] of names.entries()) makeInput(join(directory, name), bytes, seed);
  return directory;
};

/** Seconds of one run; removes the output. @param {string} way @param {string} inputs @param {string} out */
const secondsOf = (way, inputs, out) => {
  const [strategy = '', ...settings] = way.split(' ');
  // Read again, so that every way finds its inputs in the page cache.
  if (!settings.includes('cold'))
    execFileSync(
      'cat',
      names.map((name) => join(inputs, name)),
      { stdio: ['ignore', 'ignore', 'inherit'] },
    );
  prime(values.memory, 1.2 * bytes);
  const line = execFileSync(program, [inputs, out, strategy, ...settings], { encoding: 'utf8' });
  for (const name of readdirSync(out)) rmSync(join(out, name));
  return Number(/([\d.]+) s /.exec(line)?.[1]);
};

const stored = makeInputs(values.inputs);
for (const { title, from, on, ways } of groups.filter(({ title }) => title.includes(values.only))) {
  const work = mkdtempSync(join(values[on], 'layerloom-strategies-'));
  const removeWork = () => rmSync(work, { recursive: true, force: true });
  process.on('exit', removeWork);
  const inputs = from === 'memory' ? makeInputs(join(work, 'inputs')) : stored;
  const out = join(work, 'out');
  mkdirSync(out);

  /** @type {Map<string, number[]>} */
  const seconds = new Map(ways.map((way) => [way, []]));
  for (let round = 0; round < Number(values.repeats); round += 1)
    for (const [way, measured] of seconds) measured.push(secondsOf(way, inputs, out));
  removeWork();

  console.log(`\n${title} (${(bytes / 1e9).toFixed(1)} GB, median of ${values.repeats})\n`);
  console.log('| way | s | min–max | GB/s of output |\n|---|---|---|---|');
  for (const [way, measured] of seconds)
    console.log(
      `| ${way} | ${median(measured).toFixed(2)} | ${Math.min(...measured).toFixed(2)}–${Math.max(...measured).toFixed(2)} | ${(bytes / 1e9 / median(measured)).toFixed(2)} |`,
    );
}
