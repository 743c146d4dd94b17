// @ts-check
// Runs workloads under faults in one process, thousands of seeds one after another:
//
//   node test/faults/simulate.mjs [--seeds FIRST:COUNT] [--workload NAME] [--dist DIRECTORY] [--power | --mixed] [--until-found] [-v]
//
// Prints a line for each seed that broke an invariant, with the command that repeats it, and a summary.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import './in-this-thread.mjs';
import { library } from './seam.mjs';
import { Simulation } from './simulation.mjs';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1:300' },
    workload: { type: 'string' },
    dist: { type: 'string', default: fileURLToPath(new URL('../../dist', import.meta.url)) },
    power: { type: 'boolean', default: false },
    mixed: { type: 'boolean', default: false },
    'until-found': { type: 'boolean', default: false },
    verbose: { type: 'boolean', short: 'v', default: false },
  },
});

if (process.env['LAYERLOOM_FAULTS_ROOT'] === undefined) {
  const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'layerloom-faults-'));
  const home = join(root, 'home');
  const { status } = spawnSync(process.execPath, process.argv.slice(1), {
    stdio: 'inherit',
    env: {
      ...process.env,
      ...{ LAYERLOOM_FAULTS_ROOT: root, LD_PRELOAD: library, HOME: home, TMPDIR: join(root, 'tmp') },
      // With more threads, a fifth of the processor time was spent waiting.
      UV_THREADPOOL_SIZE: '1',
      ...{ XDG_CACHE_HOME: join(home, 'cache'), XDG_STATE_HOME: join(home, 'state') },
    },
  });
  rmSync(root, { recursive: true, force: true });
  process.exit(status ?? 1);
}

const root = process.env['LAYERLOOM_FAULTS_ROOT'];
for (const name of ['home', 'tmp', 'notes']) mkdirSync(join(root, name), { recursive: true });
const { runCommandLine } = await import(pathToFileURL(join(values.dist, 'cli/run-command-line.js')).href);
const { usualPatience } = await import(
  pathToFileURL(join(values.dist, 'core/models/sources/hub/hub.js')).href
);
// As many retries as usual, without the waits.
Object.assign(usualPatience, { firstDelayMs: 1, longestDelayMs: 5 });
const { ShardStore } = await import(pathToFileURL(join(values.dist, 'study/store/shard-store.js')).href);

const [first = 1, count = 1] = values.seeds.split(':').map(Number);
const simulation = await Simulation.start({ root, runCommandLine, ShardStore }, values.workload);
const began = { cpu: process.cpuUsage(), at: performance.now() };
/** Every fifth seed of a mixed run is a power cut. @param {number} seed */
const isCut = (seed) => values.power || (values.mixed && seed % 5 === 0);
let [found, run] = [0, 0];
for (let seed = first; seed < first + count; seed += 1) {
  const { workload, faults, wrong, message } = await (isCut(seed)
    ? simulation.cut(seed)
    : simulation.run(seed));
  run += 1;
  if (values.verbose) console.log(seed, workload, JSON.stringify(faults), message);
  if (wrong.length === 0) continue;
  found += 1;
  console.log(
    [
      `seed ${seed}, ${workload}: ${wrong.join('; ')}`,
      `  faults: ${faults.map((fault) => Object.values(fault).join(' ')).join(', ')}`,
      `  said: ${message}`,
      `  repeat: node test/faults/simulate.mjs --seeds ${seed}:1${isCut(seed) ? ' --power' : ''}${values.workload === undefined ? '' : ` --workload '${values.workload}'`} -v`,
    ].join('\n'),
  );
  if (values['until-found']) break;
}
const { user, system } = process.cpuUsage(began.cpu);
console.log(
  `${run} seeds, ${found} of which broke an invariant; ${((performance.now() - began.at) / 1000).toFixed(1)} s, ` +
    `${((user + system) / 1e6).toFixed(1)} s of CPU; by workload ${JSON.stringify(simulation.counts)}; faults that came to pass ${JSON.stringify(simulation.kinds)}`,
);
process.exit(found === 0 ? 0 : 1);
