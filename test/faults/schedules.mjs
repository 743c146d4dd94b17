// @ts-check
// Runs several commands at once over one store, each in its own process, in turns that a seed gives:
//
//   node test/faults/schedules.mjs [--seeds FIRST:COUNT] [--scenario NAME] [--dist DIRECTORY] [--until-found]
//   [-v] [--turns FILE]
//
// Prints like simulate.mjs. Every turn is appended to the file of `--turns`.
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Schedules } from './schedule.mjs';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1:100' },
    dist: { type: 'string', default: fileURLToPath(new URL('../../dist', import.meta.url)) },
    scenario: { type: 'string' },
    turns: { type: 'string' },
    'until-found': { type: 'boolean', default: false },
    verbose: { type: 'boolean', short: 'v', default: false },
  },
});

const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'layerloom-faults-'));
for (const name of ['home', 'tmp']) mkdirSync(join(root, name));
const schedules = new Schedules(root, values.dist, values.scenario, values.turns);
const [first = 1, count = 1] = values.seeds.split(':').map(Number);
const began = performance.now();
let [found, run] = [0, 0];
try {
  for (let seed = first; seed < first + count; seed += 1) {
    const { scenario, commands, wrong, said } = await schedules.run(seed);
    run += 1;
    if (values.verbose) console.log(`${seed} ${scenario}\n  ${said.join('\n  ')}`);
    if (wrong.length === 0) continue;
    found += 1;
    console.log(
      [
        `seed ${seed}, ${scenario}: ${wrong.join('; ')}`,
        `  commands: ${commands.join(', ')}`,
        ...said.map((one) => `  said: ${one}`),
        `  repeat: node test/faults/schedules.mjs --seeds ${seed}:1${values.scenario === undefined ? '' : ` --scenario '${values.scenario}'`} -v --turns turns.txt`,
      ].join('\n'),
    );
    if (values['until-found']) break;
  }
} finally {
  schedules.close();
  rmSync(root, { recursive: true, force: true });
}
console.log(
  `${run} schedules, ${found} of which broke an invariant; ${((performance.now() - began) / 1000).toFixed(1)} s; ${schedules.summary()}`,
);
process.exitCode = found === 0 ? 0 : 1;
