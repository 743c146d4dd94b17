// @ts-check
// Plants bugs in copies of the compiled program, and prints how many seeds it takes to find each:
//
//   node test/faults/plant.mjs [--most SEEDS] [--bug NAME]
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { bugs } from './bugs.mjs';

const { values } = parseArgs({
  options: { most: { type: 'string', default: '2000' }, bug: { type: 'string' } },
});

const program = fileURLToPath(new URL('../..', import.meta.url));

/** @param {import('./bugs.mjs').Bug} bug @param {string} root */
const plant = ({ file, text, instead }, root) => {
  for (const name of ['dist', 'package.json', 'prebuilds'])
    cpSync(join(program, name), join(root, name), { recursive: true });
  for (const name of ['node_modules', 'training', 'python', 'tasks'])
    symlinkSync(join(program, name), join(root, name));
  const path = join(root, 'dist', file);
  const source = readFileSync(path, 'utf8');
  if (!source.includes(text)) throw new Error(`${file} has no ${text}`);
  writeFileSync(path, source.replace(text, instead));
};

let missed = 0;
for (const bug of bugs.filter(({ name }) => values.bug === undefined || name.includes(values.bug))) {
  const root = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'layerloom-planted-'));
  try {
    plant(bug, root);
    const { stdout, stderr } = spawnSync(
      process.execPath,
      [
        ...[
          fileURLToPath(new URL(bug.schedules ? 'schedules.mjs' : 'simulate.mjs', import.meta.url)),
          '--seeds',
          `1:${values.most}`,
          '--until-found',
        ],
        ...[
          '--dist',
          join(root, 'dist'),
          ...(bug.power ? ['--power'] : []),
          ...(bug.workload === undefined ? [] : [bug.schedules ? '--scenario' : '--workload', bug.workload]),
        ],
      ],
      { encoding: 'utf8' },
    );
    const found = /^seed (?<seed>\d+), (?<rest>.*)$/m.exec(stdout)?.groups;
    const atOnce = /^Error: (?<what>.* without a fault.*)$/m.exec(stderr)?.groups?.['what'];
    const told =
      found !== undefined
        ? `seed ${found['seed']}, ${found['rest']?.slice(0, 120)}`
        : atOnce && `before the first seed: ${atOnce}`;
    if (told === undefined) {
      // Only the simulation's own line proves that it found nothing: one that could not run found nothing
      // either.
      if (!/, 0 of which broke an invariant/.test(stdout))
        throw new Error(`the simulation failed: ${stderr}`);
      missed += 1;
    }
    console.log(`${bug.name}: ${told ?? `not found by ${values.most} seeds`}`);
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
}
process.exitCode = missed === 0 ? 0 : 1;
