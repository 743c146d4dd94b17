// @ts-check
// Calls the addon with valid, odd and ill-typed jobs. No call may end the process, or give anything except a
// status, a TypeError or a RangeError; valid ones must run, with the results of independent code.
//
//   node test/native/fuzz/fuzz.mjs [--cases 2000] [--seed 1] [--case NUMBER]
//
// Every case follows from the seed and its number: `--case` replays one. LAYERLOOM_ADDON names another addon
// than the prebuilt one; `npm run test:fuzz` builds one with a sanitizer.
import { spawn } from 'node:child_process';
import {
  closeSync,
  ftruncateSync,
  mkdtempSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { callOf } from './jobs.mjs';
import { Random } from './random.mjs';
import { Planted, spoil } from './spoil.mjs';

/** @import { Call, Files } from './jobs.mjs' */

const prebuilt = new URL(
  `../../../prebuilds/${process.platform}-${process.arch}/layerloom.node`,
  import.meta.url,
);
const addonFile = resolve(process.env['LAYERLOOM_ADDON'] ?? fileURLToPath(prebuilt));

const { values: options } = parseArgs({
  options: {
    cases: { type: 'string', default: '2000' },
    seed: { type: 'string', default: '1' },
    case: { type: 'string' },
    // For the worker process: the file in which it notes its current case.
    progress: { type: 'string' },
  },
});
const seed = Number(options.seed);

const right = 0.4;
const outcomes = [
  'done',
  'cancelled',
  'inputShrank',
  'readFailed',
  'writeFailed',
  'notEqual',
  'threadFailed',
];

/** @param {string} directory @param {Record<string, (...values: unknown[]) => any>} addon @returns {Files} */
const openFiles = (directory, addon) => {
  const random = new Random(seed, -1);
  const inputs = [65_536, 65_536, 4099].map((size, index) => {
    const bytes = Buffer.from(
      random.list(size, (at) =>
        index === 0 && at % 4 === 3 ? 0x3f : index === 2 && at % 8 < 4 ? 0 : random.below(256),
      ),
    );
    const path = join(directory, `${index}`);
    writeFileSync(path, bytes);
    return { fd: openSync(path, 'r'), bytes };
  });
  const output = openSync(join(directory, 'out'), 'w+');
  const closed = openSync(join(directory, 'out'), 'r');
  closeSync(closed);
  if (process.platform === 'linux') inputs.push(inMemory(addon));
  return { inputs, output, closed };
};

/** The start of this process's program in its memory, as a file. @param {Record<string, (...values: unknown[]) => any>} addon */
const inMemory = (addon) => {
  const map = readFileSync('/proc/self/maps', 'utf8')
    .split('\n')
    .find((line) => line.endsWith(` ${process.execPath}`) && / 00000000 /.test(line));
  const address = Number.parseInt(String(map), 16);
  const bytes = readFileSync(process.execPath).subarray(0, 8192);
  const parts = Float64Array.of(1000, address, 7192, address + 1000);
  return { fd: addon['openRemote']?.(openSync('/proc/self/mem', 'r'), parts), bytes };
};

/** @typedef {'done' | 'ended otherwise' | 'TypeError' | 'RangeError' | 'planted' | 'system error'} Result */

/**
 * @param {Record<string, (...values: unknown[]) => any>} addon @param {Call} call
 * @returns {Result}
 */
const run = (addon, call) => {
  const { door, values } = call;
  try {
    const status = addon[door]?.(...values);
    if (door === 'lock' || door === 'exchange') return 'done';
    call.nonFinite = status.nonFinite;
    if (!outcomes.includes(status.outcome)) throw new Error(`outcome ${status.outcome}`);
    return status.outcome === 'done' ? 'done' : 'ended otherwise';
  } catch (error) {
    if (error instanceof Planted) return 'planted';
    if (error instanceof RangeError) return 'RangeError';
    if (error instanceof TypeError) return 'TypeError';
    if (door === 'exchange' && error instanceof Error) return 'system error';
    throw error;
  }
};

/** @param {Call} call @param {string} output @param {Result} result */
const checkRight = ({ door, written, found, nonFinite = [] }, output, result) => {
  if (result !== 'done' && door !== 'exchange') throw new Error(`a call that is right ended: ${result}`);
  if (written !== undefined && !readFileSync(output).equals(written))
    throw new Error('other bytes were written');
  if (found !== undefined && !found(nonFinite)) throw new Error('something else was found');
};

/** Plays cases in this process. @param {number} first @param {number} end @param {string} progress */
const play = (first, end, progress) => {
  const addon = createRequire(import.meta.url)(addonFile);
  const directory = mkdtempSync(join(tmpdir(), 'layerloom-fuzz-'));
  const at = openSync(progress, 'r+');
  /** @type {Record<string, number>} */
  const counts = {};
  try {
    const files = openFiles(directory, addon);
    for (let number = first; number < end; number += 1) {
      writeSync(at, String(number), 0);
      ftruncateSync(files.output, 0);
      const random = new Random(seed, number);
      const call = callOf(random, files, 'hash' in addon);
      const isRight = random.chance(right);
      const result = run(addon, isRight ? call : spoil(random, files, call));
      if (isRight) checkRight(call, join(directory, 'out'), result);
      const name = `${isRight ? 'right' : 'spoilt'}, ${result}`;
      counts[name] = (counts[name] ?? 0) + 1;
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
  process.stdout.write(`${JSON.stringify(counts)}\n`);
};

/** Limits written files to 1 GiB (blocks of 512 bytes): a spoilt count may ask for a huge output. */
const bounded = 'ulimit -f 2097152; exec "$@"';

/** Plays cases in a separate process, which may crash or hang. @param {number} first @param {number} end */
const watch = async (first, end) => {
  const directory = mkdtempSync(join(tmpdir(), 'layerloom-fuzz-'));
  const progress = join(directory, 'progress');
  writeFileSync(progress, '');
  const command = [process.execPath, ...process.argv.slice(1), '--progress', progress];
  const child = spawn('sh', ['-c', bounded, 'sh', ...command], { stdio: ['ignore', 'pipe', 'inherit'] });
  const caseNow = () => readFileSync(progress, 'utf8');
  let [seen, isHanging] = ['', false];
  const look = setInterval(() => {
    isHanging = caseNow() === seen;
    seen = caseNow();
    if (isHanging) child.kill('SIGKILL');
  }, 120_000);
  let output = '';
  child.stdout.on('data', (data) => {
    output += data;
  });
  const [code, signal] = await new Promise((resolve) => child.on('close', (...end) => resolve(end)));
  clearInterval(look);
  const last = caseNow();
  rmSync(directory, { recursive: true });
  if (code !== 0) {
    console.log(`seed ${seed}, case ${last}: ${isHanging ? 'hangs' : `exit ${code ?? signal}`}`);
    process.exitCode = 1;
    return;
  }
  const counts = Object.entries(JSON.parse(output)).sort();
  console.log(`seed ${seed}: ${end - first} cases`);
  for (const [name, count] of counts)
    console.log(`${((100 * Number(count)) / (end - first)).toFixed(1).padStart(6)} % ${name}`);
};

const first = options.case === undefined ? 0 : Number(options.case);
const end = options.case === undefined ? Number(options.cases) : first + 1;
if (options.progress === undefined) await watch(first, end);
else play(first, end, options.progress);
