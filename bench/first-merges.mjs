// @ts-check
// Usable merges over time: runs `layerloom batch` and draws when each merge was in place.
//
//   npm run bench:first -- EXPERIMENT.yaml [--before DIR] [--dir DIR] [--svg FILE] [--repeats 1]
//
// --before: another built tree to compare with, run alternately. Draws the runs of median time. Writes
// outputs in --dir and removes them.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { drawSteps } from './lib/chart.mjs';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    before: { type: 'string' },
    dir: { type: 'string', default: tmpdir() },
    svg: { type: 'string', default: 'first-merges.svg' },
    repeats: { type: 'string', default: '1' },
  },
});
const [experiment = ''] = positionals;
const here = fileURLToPath(new URL('..', import.meta.url));
const work = mkdtempSync(join(values.dir, 'layerloom-first-'));
process.on('exit', () => rmSync(work, { recursive: true, force: true }));

/** @typedef {{ seconds: number, times: number[], bytesRead: number, bytesWritten: number }} Run */

/** @param {string} tree @returns {Promise<Run>} */
const run = async (tree) => {
  const out = join(work, 'out');
  const args = [join(tree, 'bin/layerloom.cjs'), 'batch', experiment, '-o', out, '--json'];
  const begun = performance.now();
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  /** @type {number[]} */
  const times = [];
  let [bytesRead, bytesWritten] = [0, 0];
  for await (const line of createInterface(child.stdout)) {
    const event = JSON.parse(line);
    if (event.event === 'merge' && event.state === 'done') times.push((performance.now() - begun) / 1000);
    if (event.event === 'done') ({ bytesRead, bytesWritten } = event);
  }
  const seconds = (performance.now() - begun) / 1000;
  if (child.exitCode !== 0 && child.exitCode !== null) throw new Error(`${tree} ended ${child.exitCode}`);
  rmSync(out, { recursive: true });
  return { seconds, times, bytesRead, bytesWritten };
};

const trees = [...(values.before === undefined ? [] : [values.before]), here];
/** @type {Run[][]} */
const runs = trees.map(() => []);
for (let round = 0; round < Number(values.repeats); round += 1)
  for (const [index, tree] of trees.entries()) runs[index]?.push(await run(tree));

const chosen = runs.map((some) => {
  const sorted = [...some].sort((a, b) => a.seconds - b.seconds);
  return /** @type {Run} */ (sorted[Math.floor(sorted.length / 2)]);
});
for (const { seconds, times, bytesRead, bytesWritten } of chosen)
  console.log(
    `${times.length} merges in ${seconds.toFixed(1)} s: the first after ${times[0]?.toFixed(1)} s, half of them after ${times[Math.floor(times.length / 2)]?.toFixed(1)} s; ${(bytesRead / 1e9).toFixed(2)} GB read, ${(bytesWritten / 1e9).toFixed(2)} GB written`,
  );
const names = values.before === undefined ? ['now'] : ['before', 'now'];
writeFileSync(
  values.svg,
  drawSteps(
    'Merges in place over time',
    `${chosen[0]?.times.length} merges, ${((chosen[0]?.bytesWritten ?? 0) / 1e9).toFixed(1)} GB of distinct shards`,
    chosen.map(({ times, seconds }, index) => ({ name: names[index] ?? '', times, end: seconds })),
  ),
);
