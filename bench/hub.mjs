// @ts-check
// What a swap of two models of a hub costs, beside the same swap of models that are here.
//
//   npm run bench:hub [-- --dir DIR --out DIR --rounds N]
//
// Serves two checkpoints of the shapes of Llama 3.1 8B with 5 layers (4.28 GB each) by a server of its own on this machine, and swaps them with
// --download and an empty cache, once more with the cache of that, and by their directories. Prints medians, bytes sent and private memory.
import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, rmSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { makeCheckpoints } from './lib/checkpoints.mjs';
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
const commit = createHash('sha1').update('bench').digest('hex');

/** Files of the models, by path on the hub. @type {Map<string, { path: string, bytes: number, oid: string, large: boolean }>} */
const files = new Map();
for (const [index, directory] of paths.entries())
  for (const name of readdirSync(directory)) {
    const path = join(directory, name);
    const bytes = statSync(path).size;
    const large = name.endsWith('.safetensors');
    const hash = createHash(large ? 'sha256' : 'sha1');
    if (!large) hash.update(`blob ${bytes}\0`);
    for await (const chunk of createReadStream(path)) hash.update(chunk);
    files.set(`org/${names[index]}/${name}`, { path, bytes, oid: hash.digest('hex'), large });
  }

let sent = 0;
const server = createServer((request, response) => {
  const path = decodeURIComponent(new URL(request.url ?? '/', 'http://hub').pathname);
  const json = (/** @type {unknown} */ value) => response.end(JSON.stringify(value));
  const [, info, tree] =
    /^\/api\/models\/(org\/[^/]+)(?:\/revision\/[^/]+|(\/tree\/[^/]+))?$/.exec(path) ?? [];
  if (info !== undefined && tree === undefined) return json({ id: info, sha: commit });
  if (info !== undefined)
    return json(
      [...files]
        .filter(([name]) => name.startsWith(`${info}/`))
        .map(([name, { bytes, oid, large }]) => ({
          type: 'file',
          path: name.slice(info.length + 1),
          size: bytes,
          oid: large ? oid.slice(0, 40) : oid,
          ...(large ? { lfs: { oid, size: bytes, pointerSize: 135 } } : {}),
        })),
    );
  const [, model, name] = /^\/(org\/[^/]+)\/resolve\/[^/]+\/(.+)$/.exec(path) ?? [];
  const file = files.get(`${model}/${name}`);
  if (file === undefined) {
    response.statusCode = 404;
    return response.end();
  }
  const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
  const begin = Number(from ?? 0);
  const end = to === undefined || to === '' ? file.bytes : Math.min(file.bytes, Number(to) + 1);
  response.writeHead(from === undefined ? 200 : 206, {
    'content-length': end - begin,
    etag: `"${file.oid}"`,
    'x-repo-commit': commit,
    'accept-ranges': 'bytes',
    ...(from === undefined ? {} : { 'content-range': `bytes ${begin}-${end - 1}/${file.bytes}` }),
  });
  if (request.method === 'HEAD') return response.end();
  const stream = createReadStream(file.path, { start: begin, end: end - 1, highWaterMark: 1 << 20 });
  stream.on('data', (chunk) => {
    sent += chunk.length;
  });
  return stream.pipe(response);
});
await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
const address = server.address();
if (address === null || typeof address === 'string') throw new Error('no port');

const out = join(values.out, 'layerloom-bench-hub');
const home = join(values.dir, 'hub-home');
const env = {
  HF_ENDPOINT: `http://127.0.0.1:${address.port}`,
  HF_HOME: home,
  LAYERLOOM_CACHE: join(home, 'layerloom'),
};
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
    sent = 0;
    const { seconds, privateBytes } = await measure(process.execPath, [cli, ...args], env);
    found.get(name)?.push({ seconds, privateBytes, sent });
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
server.closeAllConnections();
server.close();
