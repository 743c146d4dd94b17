// @ts-check
// The cost of merging models whose vocabularies differ by one token, compared with models of one vocabulary.
//
//   npm run bench:vocabularies [-- --dir DIR --out DIR --rounds N]
//
// Makes three experts with the shapes of Llama 3.1 8B, 5 layers (4.28 GB each) and tokenizers of 128,256
// tokens. Swaps and averages two of the same and two of different vocabularies, alternately. Prints medians
// with range, and peak private memory.
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeVocabularies } from './lib/checkpoints.mjs';
import { measure, median } from './lib/measure.mjs';

const cli = fileURLToPath(new URL('../bin/layerloom.cjs', import.meta.url));
const { values } = parseArgs({
  options: {
    dir: { type: 'string', default: join(tmpdir(), 'layerloom-bench') },
    out: { type: 'string', default: '/dev/shm' },
    rounds: { type: 'string', default: '5' },
  },
});
const [first = '', same = '', more = ''] = makeVocabularies(values.dir, 5);
const out = join(values.out, 'layerloom-bench-vocabularies');
const swap = (/** @type {string} */ language) => [
  ...['swap', '--task', first, '--lang', language, '--bottom', '2', '--top', '1', '-o', out, '-q'],
];
/** @type {[string, string[]][]} */
const jobs = [
  ['swap, one vocabulary', swap(same)],
  ['swap, union', swap(more)],
  ['soup, one vocabulary', ['soup', first, same, '-o', out, '-q']],
  ['soup, union', ['soup', first, more, '-o', out, '-q']],
];
/** @type {Map<string, import('./lib/measure.mjs').Cost[]>} */
const found = new Map(jobs.map(([name]) => [name, []]));
for (let round = 0; round < Number(values.rounds); round += 1)
  for (const [name, args] of jobs) {
    found.get(name)?.push(await measure(process.execPath, [cli, ...args]));
    rmSync(out, { recursive: true });
  }
for (const [name, costs] of found) {
  const seconds = costs.map((cost) => cost.seconds);
  const most = Math.max(...costs.map(({ privateBytes }) => privateBytes));
  console.log(
    `${name}: ${median(seconds).toFixed(2)} s (${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)}), ${Math.round(most / 1e6)} MB private`,
  );
}
