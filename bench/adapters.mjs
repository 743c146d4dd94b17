// @ts-check
// The cost of merging adapters, compared with the same merges of full checkpoints, run alternately.
//
//   npm run bench:adapters [-- --dir DIR --out DIR --rounds N --ranks 16,32,256]
//
// Makes a base and two experts with the shapes of Llama 3.1 8B and 5 layers (4.28 GB each). For each rank,
// makes two adapters of all attention and MLP weights. Prints medians with range, the ratio to the full merge
// of the same round, and peak private memory.
import { rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeAdapters, makeCheckpoints } from './lib/checkpoints.mjs';
import { measure, median } from './lib/measure.mjs';

const cli = fileURLToPath(new URL('../bin/layerloom.cjs', import.meta.url));
const { values } = parseArgs({
  options: {
    dir: { type: 'string', default: join(tmpdir(), 'layerloom-bench') },
    out: { type: 'string', default: '/dev/shm' },
    rounds: { type: 'string', default: '5' },
    ranks: { type: 'string', default: '8,16,32,256' },
  },
});
const layers = 5;
const [base = '', math = '', language = ''] = makeCheckpoints(values.dir, layers, [
  'base',
  'math',
  'language',
]);
const out = join(values.out, 'layerloom-bench-adapters');
const swap = (/** @type {string} */ a, /** @type {string} */ b) => [
  ...['swap', '--task', a, '--lang', b, '--bottom', '2', '--top', '1'],
];
/** @type {[name: string, besides: string, args: string[]][]} */
const jobs = [
  ['swap, full', '', swap(math, language)],
  ['soup, full', '', ['soup', math, language]],
];
for (const rank of values.ranks.split(',').map(Number)) {
  const [a = '', b = ''] = makeAdapters(values.dir, layers, rank, ['math', 'language']);
  const [onA, onB] = [`${base}+${a}`, `${base}+${b}`];
  jobs.push([`swap, rank ${rank}`, 'swap, full', swap(onA, onB)]);
  jobs.push([`soup, rank ${rank}`, 'soup, full', ['soup', onA, onB]]);
  jobs.push([`swap, rank ${rank}, adapter out`, 'swap, full', swap(a, b)]);
}
/** @type {Map<string, import('./lib/measure.mjs').Cost[]>} */
const found = new Map(jobs.map(([name]) => [name, []]));
/** @type {Map<string, number>} */
const written = new Map();
for (let round = 0; round < Number(values.rounds); round += 1)
  for (const [name, , args] of jobs) {
    found.get(name)?.push(await measure(process.execPath, [cli, ...args, '-o', out, '-q']));
    const adapter = statSync(join(out, 'adapter_model.safetensors'), { throwIfNoEntry: false });
    if (adapter !== undefined) written.set(name, adapter.size);
    rmSync(out, { recursive: true });
  }
for (const [name, besides] of jobs) {
  const costs = found.get(name) ?? [];
  const seconds = costs.map((cost) => cost.seconds);
  const most = Math.max(...costs.map(({ privateBytes }) => privateBytes));
  const full = (found.get(besides) ?? []).map((cost) => cost.seconds);
  const ratio =
    full.length === 0
      ? ''
      : `, ${median(seconds.map((one, round) => one / (full[round] ?? one))).toFixed(2)} × full`;
  const size = written.get(name);
  console.log(
    `${name}: ${median(seconds).toFixed(2)} s (${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)})${ratio}, ${Math.round(most / 1e6)} MB private${size === undefined ? '' : `, ${Math.round(size / 1e6)} MB written`}`,
  );
}
