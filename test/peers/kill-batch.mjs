// @ts-check
// Kills a batch at random moments (SIGKILL), resumes it each time, and compares its shards with those of an
// undisturbed run:
//
//   node test/peers/kill-batch.mjs EXPERIMENT.yaml REFERENCE OUT [--kills 20] [--longest 8] [--seed 1]
//
// REFERENCE is that run's directory; OUT is created, and removed whenever a run ends before enough kills.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { createReadStream, existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { setTimeout } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const cli = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url));
const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    kills: { type: 'string', default: '20' },
    longest: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
  },
});
const [experiment = '', reference = '', out = ''] = positionals;

/** From 0 to 1, the same for a seed (a linear congruential generator). */
let state = Number(values.seed);
const random = () => {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
  return state / 2 ** 32;
};

/** @param {string} directory @returns {string[]} */
const filesIn = (directory) =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .sort();

/** SHA-256 of every shard of the store and of merges; reads each inode once. @param {string} directory */
const shardsIn = async (directory) => {
  /** @type {Record<string, string>} */
  const found = {};
  for (const file of filesIn(join(directory, '.store', 'shards'))) {
    if (!file.endsWith('.safetensors')) continue;
    const hash = createHash('sha256');
    await pipeline(
      createReadStream(join(directory, '.store', 'shards', file), { highWaterMark: 1 << 20 }),
      hash,
    );
    found[file] = hash.digest('hex');
  }
  return found;
};

let kills = 0;
let runs = 0;
let rounds = 0;
/** States in `experiment.json` at each kill. @type {string[]} */
const states = [];
rmSync(out, { recursive: true, force: true });
for (;;) {
  runs += 1;
  const child = spawn(process.execPath, [cli, 'batch', experiment, '-o', out, '--resume', '-q'], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  /** @type {Promise<number | null>} */
  const ended = new Promise((resolve) => child.on('close', resolve));
  const wantsKill = kills < Number(values.kills);
  const seconds = 0.2 + random() * (Number(values.longest) - 0.2);
  const stop = new AbortController();
  const killed = wantsKill
    ? setTimeout(seconds * 1000, undefined, { signal: stop.signal }).then(
        () => child.kill('SIGKILL'),
        () => false,
      )
    : Promise.resolve(false);
  const code = await ended;
  stop.abort();
  if ((await killed) && code === null) {
    kills += 1;
    const path = join(out, 'experiment.json');
    const done = existsSync(path)
      ? JSON.parse(readFileSync(path, 'utf8')).merges.filter(
          (/** @type {any} */ merge) => merge.state === 'done',
        ).length
      : 'no';
    states.push(`${seconds.toFixed(1)} s: ${done}`);
    continue;
  }
  if (code !== 0) throw new Error(`batch ended with ${code}`);
  if (!wantsKill) break;
  rounds += 1;
  rmSync(out, { recursive: true, force: true });
}

const record = JSON.parse(readFileSync(join(out, 'experiment.json'), 'utf8'));
if (record.state !== 'done') throw new Error(`experiment.json is ${record.state}`);
// The store keeps nothing of a killed run, and the merges equal the reference's, file by file.
const plain = (/** @type {string} */ directory) =>
  filesIn(directory).filter((file) => !file.startsWith('.store/experiments/'));
const [files, wanted] = [plain(out), plain(reference)];
const odd = [
  ...files.filter((file) => !wanted.includes(file)),
  ...wanted.filter((file) => !files.includes(file)),
];
if (odd.length > 0) throw new Error(`files differ: ${odd.slice(0, 10).join(', ')}`);
const [shards, expected] = [await shardsIn(out), await shardsIn(reference)];
const wrong = Object.keys(expected).filter((file) => shards[file] !== expected[file]);
if (wrong.length > 0) throw new Error(`shards differ: ${wrong.join(', ')}`);
execFileSync(process.execPath, [cli, 'store', 'verify', join(out, '.store'), '-q']);
console.log(
  `${kills} kills in ${runs} runs (${rounds} batches got through before): ${Object.keys(shards).length} shards the same, ` +
    `${files.length} files, nothing left behind\nmerges done at each kill: ${states.join(', ')}`,
);
