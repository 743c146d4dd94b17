// @ts-check
// Two hosts over one store on a file server that is killed and restarted:
//
//   node test/faults/nfs.mjs --mounts A,B [--restart COMMAND] [--rounds FIRST:COUNT]
//
// A and B are two mounts of one empty export, as on two clients (README.md says how to have them on one
// machine). In each round two batches run at once, each on its own mount and as its own host. Every second
// batch is killed and resumed, and COMMAND kills and restarts the server meanwhile. After each round every
// merge must equal that on a local disk, the store must be whole, and nothing may be left over.
import { spawn, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { diceOf } from './choose.mjs';
import { library } from './seam.mjs';
import { treeOf } from './tree.mjs';
import { study, write, writeInputs } from './workloads.mjs';

const { values } = parseArgs({
  options: {
    mounts: { type: 'string' },
    restart: { type: 'string' },
    rounds: { type: 'string', default: '1:20' },
  },
});
const mounts = (values.mounts ?? '').split(',');
if (mounts.length !== 2) throw new Error('--mounts A,B is missing');

const command = fileURLToPath(new URL('../../bin/layerloom.cjs', import.meta.url));
const local = mkdtempSync(join(tmpdir(), 'layerloom-nfs-'));
const pair = 'swahili/math-1+swh-1';
const merges = ['swap', 'narrow', 'ties'];

/** Environments of two hosts, each with its own name and boot. */
const hosts = ['one', 'two'].map((name) => {
  const boot = join(local, `boot-${name}`);
  writeFileSync(boot, `${randomUUID()}\n`);
  return {
    ...process.env,
    ...{ LD_PRELOAD: library, LAYERLOOM_HOST: name, LAYERLOOM_BOOT: boot },
    ...{ XDG_CACHE_HOME: join(local, 'cache'), XDG_STATE_HOME: join(local, 'state') },
  };
});

/**
 * @param {string} directory a mount, or a local directory @param {string} name @param {...string} more
 */
const batch = (directory, name, ...more) => [
  ...['batch', join(directory, 'work', `${name}.yaml`), '-o', join(directory, 'work', name)],
  ...['--store', join(directory, 'work', 'store'), ...more],
];

/** @param {string} directory */
const placeOf = (directory) => ({ inputs: join(directory, 'inputs'), work: join(directory, 'work') });

/** Hashes of the shards of an experiment's merges. @param {string} directory @param {string} name */
const weightsOf = (directory, name) =>
  merges.map((merge) =>
    [...treeOf(join(directory, 'work', name, pair, merge))]
      .filter(([file]) => file.endsWith('.safetensors'))
      .sort()
      .join(' '),
  );

/** @typedef {{ code: number | null; said: string }} End */

/**
 * Runs a command on a host, and kills it unless `killedAfter` is 0.
 * @param {number} host
 * @param {readonly string[]} words
 * @param {number} [killedAfter]
 */
const run = (host, words, killedAfter = 0) =>
  /** @type {Promise<End>} */ (
    new Promise((resolve) => {
      const child = spawn(process.execPath, [command, ...words], {
        ...{ env: hosts[host] ?? {}, stdio: /** @type {const} */ (['ignore', 'pipe', 'pipe']) },
      });
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (text) => {
          said += text;
        });
      const timer = killedAfter > 0 ? setTimeout(() => child.kill('SIGKILL'), killedAfter) : undefined;
      child.on('close', (code) => {
        clearTimeout(timer);
        resolve({ code, said });
      });
    })
  );

mkdirSync(join(local, 'work'), { recursive: true });
writeInputs(placeOf(local));
write(placeOf(local), 'a.yaml', study(placeOf(local)));
await run(0, batch(local, 'a'));
const expected = weightsOf(local, 'a');

const counts = { killed: 0, restarts: 0, rounds: 0 };
const [first = 1, count = 1] = values.rounds.split(':').map(Number);
const began = performance.now();
let found = 0;
for (let round = first; round < first + count; round += 1) {
  const dice = diceOf(round);
  const wrong = [];
  // Each round has its own names: a client caches for a while what another client removed.
  const places = mounts.map((mount) => join(mount, `round-${round}`));
  for (const place of places) mkdirSync(join(place, 'work'), { recursive: true });
  writeInputs(placeOf(places[0] ?? ''));
  for (const [index, place] of places.entries())
    write(placeOf(place), `${'ab'.charAt(index)}.yaml`, study(placeOf(place)));
  let isOver = false;
  const server = (async () => {
    while (values.restart !== undefined) {
      await pause(300 + dice.below(4000));
      if (isOver) return;
      spawnSync('bash', ['-c', values.restart], { stdio: 'ignore' });
      counts.restarts += 1;
    }
  })();
  const one = async (/** @type {number} */ host) => {
    const name = 'ab'.charAt(host);
    const place = places[host] ?? '';
    if (dice.below(2) === 0) {
      const { code } = await run(host, batch(place, name), 300 + dice.below(4000));
      if (code === 0) return;
      counts.killed += 1;
    } else {
      const { code, said } = await run(host, batch(place, name));
      if (code === 0) return;
      wrong.push(`${name}: exit code ${code}: ${said.trim().split('\n').slice(-3).join(' | ')}`);
    }
    const { code, said } = await run(host, batch(place, name, '--resume'));
    if (code !== 0)
      wrong.push(`${name} resumed: exit code ${code}: ${said.trim().split('\n').slice(-3).join(' | ')}`);
  };
  await Promise.all([one(0), one(1)]);
  isOver = true;
  await server;
  for (const [index, place] of places.entries()) {
    const name = 'ab'.charAt(index);
    if (wrong.length > 0) break;
    // Each client reads the other client's files.
    const other = places[1 - index] ?? '';
    const found = weightsOf(other, name);
    for (const [at, merge] of merges.entries())
      if (found[at] !== expected[at]) wrong.push(`${name}/${merge} differs through the other mount`);
    const verified = await run(index, ['store', 'verify', join(place, 'work', 'store')]);
    if (verified.code !== 0) wrong.push(`the store: ${verified.said.trim()}`);
  }
  if (wrong.length === 0) {
    const { code, said } = await run(0, ['store', 'gc', join(places[0] ?? '', 'work', 'store')]);
    if (code !== 0) wrong.push(`the collection: ${said.trim()}`);
    const silly = readdirSync(places[0] ?? '', { recursive: true, encoding: 'utf8' }).filter((name) =>
      /\.nfs[0-9a-f]+$|\.layerloom-(partial|removed|former)/.test(name),
    );
    if (silly.length > 0) wrong.push(`${silly.join(', ')} left over`);
  }
  counts.rounds += 1;
  rmSync(places[0] ?? '', { recursive: true, force: true });
  if (wrong.length === 0) continue;
  found += 1;
  console.log(`round ${round}: ${wrong.join('; ')}`);
}
rmSync(local, { recursive: true });
console.log(
  `${counts.rounds} rounds, ${found} of which broke a promise; ${((performance.now() - began) / 1000).toFixed(0)} s; ${JSON.stringify(counts)}`,
);
process.exitCode = found === 0 ? 0 : 1;
