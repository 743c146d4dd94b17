// @ts-check
// The cost of averaging quantised models, compared with bfloat16 models of equal output, run alternately.
//
//   npm run bench:quantised [-- --dir DIR --out DIR --rounds N --layers N --only PATTERN]
//
// Makes pairs of the layers of Llama 3.1 8B in FP8 blocks, NF4, GPTQ and bfloat16, and of equally large
// experts in MXFP4 and bfloat16. Prints medians with range, the ratio to bfloat16 in the same round, and peak
// private memory.
import { readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { measure, median, prime } from './lib/measure.mjs';
import { makeQuantised, quantisedKinds } from './lib/quantised-checkpoints.mjs';

const cli = fileURLToPath(new URL('../bin/layerloom.cjs', import.meta.url));
const { values } = parseArgs({
  options: {
    dir: { type: 'string', default: join(tmpdir(), 'layerloom-bench') },
    out: { type: 'string', default: '/dev/shm' },
    rounds: { type: 'string', default: '5' },
    layers: { type: 'string', default: '4' },
    only: { type: 'string', default: '' },
  },
});
const layers = Number(values.layers);
const kinds = Object.entries(quantisedKinds).filter(([kind]) => kind.includes(values.only));
const all = [...new Set(kinds.flatMap(([kind, besides]) => [besides, kind]))];
const models = new Map(all.map((kind) => [kind, makeQuantised(values.dir, kind, layers, 2)]));
const out = join(values.out, 'layerloom-bench-quantised');
const sizeOf = (/** @type {string} */ directory) =>
  readdirSync(directory).reduce((bytes, name) => bytes + statSync(join(directory, name)).size, 0);
/** @type {Map<string, import('./lib/measure.mjs').Cost[]>} */
const found = new Map(all.map((kind) => [kind, []]));
/** @type {Map<string, number>} */
const written = new Map();
for (let round = 0; round <= Number(values.rounds); round += 1)
  for (const [kind, paths] of models) {
    const cost = await measure(process.execPath, [cli, 'soup', ...paths, '-o', out, '-q']);
    // The first round fills the page cache.
    if (round > 0) found.get(kind)?.push(cost);
    written.set(kind, sizeOf(out));
    rmSync(out, { recursive: true });
    if (round === 0) prime(values.out, written.get(kind) ?? 0);
  }
for (const [kind, costs] of found) {
  const seconds = costs.map((cost) => cost.seconds);
  const besides = found.get(/** @type {Record<string, string>} */ (quantisedKinds)[kind] ?? '') ?? [];
  const ratio =
    besides.length === 0
      ? ''
      : `, ${median(seconds.map((one, round) => one / (besides[round]?.seconds ?? one))).toFixed(2)} × bfloat16`;
  const most = Math.max(...costs.map(({ privateBytes }) => privateBytes));
  console.log(
    `${kind}: ${median(seconds).toFixed(2)} s (${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)})${ratio}, ${Math.round(most / 1e6)} MB private, ${((written.get(kind) ?? 0) / 1e9).toFixed(2)} GB written`,
  );
}
