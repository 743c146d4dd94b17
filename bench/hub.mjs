// @ts-check
// The cost of swapping two hub models, compared with local ones.
//
//   npm run bench:hub [-- --dir DIR --out DIR --rounds N]
//
// Serves two checkpoints with the shapes of Llama 3.1 8B and 5 layers (4.28 GB each) from a local server.
// Swaps them with --download and an empty cache, again with the filled cache, and by directories. Prints
// medians, bytes sent and private memory.
import { rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeCheckpoints } from './lib/checkpoints.mjs';
import { hashFiles, hubEnvironment, startHub } from './lib/hub.mjs';
import { measure, median } from './lib/measure.mjs';

const cli = fileURLToPath(new URL('../bin/layerloom.cjs', import.meta.url));
const { values } = parseArgs({
  options: {
    dir: { type: 'string', default: join(tmpdir(), 'layerloom-bench') },
    out: { type: 'string', default: '/dev/shm' },
    rounds: { type: 'string', default: '3' },
  },
});
const names = ['expert-1', 'expert-2'];
const paths = makeCheckpoints(values.dir, 5, names);
for (const path of paths) await hashFiles(path);
const hub = await startHub((id) => paths[names.indexOf(id.replace('org/', ''))]);

const out = join(values.out, 'layerloom-bench-hub');
const home = join(values.dir, 'hub-home');
const env = hubEnvironment(hub.endpoint, home);
const swap = (
  /** @type {string} */ task,
  /** @type {string} */ language,
  /** @type {string[]} */ ...more
) => [
  ...['swap', '--task', task, '--lang', language, '--bottom', '2', '--top', '1', '-o', out, '-q', ...more],
];
/** @type {[string, string[], boolean][]} */
const jobs = [
  ['swap, directories', swap(paths[0] ?? '', paths[1] ?? ''), false],
  ['swap, --download, nothing here', swap('org/expert-1', 'org/expert-2', '--download'), true],
  ['swap, --download, all here', swap('org/expert-1', 'org/expert-2', '--download'), false],
];
/** @type {Map<string, { seconds: number, privateBytes: number, sent: number }[]>} */
const found = new Map(jobs.map(([name]) => [name, []]));
for (let round = 0; round < Number(values.rounds); round += 1)
  for (const [name, args, fresh] of jobs) {
    if (fresh) rmSync(home, { recursive: true, force: true });
    hub.sent = 0;
    const { seconds, privateBytes } = await measure(process.execPath, [cli, ...args], env);
    found.get(name)?.push({ seconds, privateBytes, sent: hub.sent });
    rmSync(out, { recursive: true });
  }
for (const [name, costs] of found) {
  const seconds = costs.map((cost) => cost.seconds);
  const most = Math.max(...costs.map(({ privateBytes }) => privateBytes));
  console.log(
    `${name}: ${median(seconds).toFixed(2)} s (${Math.min(...seconds).toFixed(2)}–${Math.max(...seconds).toFixed(2)}), ${Math.round(most / 1e6)} MB private, ${(median(costs.map((cost) => cost.sent)) / 1e9).toFixed(3)} GB sent`,
  );
}
rmSync(home, { recursive: true, force: true });
hub.close();
