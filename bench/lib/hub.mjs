// @ts-check
// A local hub for benchmarks: models are directories; pushed bytes are counted and dropped.
import { createHash } from 'node:crypto';
import { createReadStream, readdirSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';

/** @typedef {import('node:http').IncomingMessage} IncomingMessage */
/** @typedef {import('node:http').ServerResponse} ServerResponse */

const commit = createHash('sha1').update('bench').digest('hex');

const isLarge = (/** @type {string} */ name) => /\.(safetensors|gguf)$/.test(name);

/** The hub's ids of file contents, by path. @type {Map<string, Promise<string>>} */
const ids = new Map();

/** @param {string} path */
const hashOf = async (path) => {
  const hash = createHash(isLarge(path) ? 'sha256' : 'sha1');
  if (!isLarge(path)) hash.update(`blob ${statSync(path).size}\0`);
  for await (const chunk of createReadStream(path, { highWaterMark: 1 << 20 })) hash.update(chunk);
  return hash.digest('hex');
};

/** @param {string} path */
const idOf = (path) => {
  const id = ids.get(path) ?? hashOf(path);
  ids.set(path, id);
  return id;
};

/** Hashes a model's files in advance, so that no command waits for it. @param {string} directory */
export const hashFiles = (directory) =>
  Promise.all(readdirSync(directory).map((name) => idOf(join(directory, name))));

/** @param {IncomingMessage} request */
const bodyOf = async (request) => JSON.parse(Buffer.concat(await request.toArray()).toString());

/**
 * Starts a hub.
 *
 * @param {(id: string) => string | undefined} directoryOf returns a model's directory; undefined if the hub
 *   lacks it
 */
export const startHub = async (directoryOf) => {
  const hub = {
    endpoint: '',
    /** Bytes of files sent and pushed. */
    sent: 0,
    received: 0,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };

  /** @param {ServerResponse} response @param {unknown} value */
  const json = (response, value, status = 200) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(value));
  };

  /** @param {string} directory */
  const treeOf = (directory) =>
    Promise.all(
      readdirSync(directory).map(async (name) => {
        const path = join(directory, name);
        const { size } = statSync(path);
        const oid = await idOf(path);
        const lfs = isLarge(name) ? { lfs: { oid, size, pointerSize: 135 } } : {};
        return { type: 'file', path: name, size, oid: oid.slice(0, 40), ...lfs };
      }),
    );

  /**
   * Accepts a push.
   *
   * @param {IncomingMessage} request
   * @param {ServerResponse} response
   * @param {string} path
   */
  const take = async (request, response, path) => {
    if (request.method === 'PUT') {
      for await (const chunk of request) hub.received += chunk.length;
      return json(response, {});
    }
    if (path.endsWith('/paths-info/main')) return json(response, []);
    if (path === '/api/repos/create') return json(response, { url: hub.endpoint, id: 'org/pushed' });
    if (path.includes('/commit/')) {
      request.resume();
      return json(response, { success: true, commitOid: commit, commitUrl: hub.endpoint });
    }
    const body = await bodyOf(request);
    if (path.includes('/preupload/')) {
      const modeOf = (/** @type {string} */ name) => (isLarge(name) ? 'lfs' : 'regular');
      const files = body.files.map((/** @type {{ path: string }} */ file) => ({
        path: file.path,
        uploadMode: modeOf(file.path),
        shouldIgnore: false,
      }));
      return json(response, { files });
    }
    const objects = body.objects.map((/** @type {{ oid: string, size: number }} */ one) => ({
      ...one,
      actions: { upload: { href: `${hub.endpoint}/storage/${one.oid}`, header: {} } },
    }));
    return json(response, { transfer: 'basic', objects });
  };

  /**
   * Sends a file or a range of it.
   *
   * @param {IncomingMessage} request
   * @param {ServerResponse} response
   * @param {string} path
   */
  const send = async (request, response, path) => {
    const bytes = statSync(path).size;
    const [, from, to] = /^bytes=(\d+)-(\d*)$/.exec(request.headers.range ?? '') ?? [];
    const begin = Number(from ?? 0);
    const end = to === undefined || to === '' ? bytes : Math.min(bytes, Number(to) + 1);
    response.writeHead(from === undefined ? 200 : 206, {
      'content-length': end - begin,
      etag: `"${await idOf(path)}"`,
      'x-repo-commit': commit,
      'accept-ranges': 'bytes',
      ...(from === undefined ? {} : { 'content-range': `bytes ${begin}-${end - 1}/${bytes}` }),
    });
    if (request.method === 'HEAD') return response.end();
    const stream = createReadStream(path, { start: begin, end: end - 1, highWaterMark: 1 << 20 });
    stream.on('data', (chunk) => {
      hub.sent += chunk.length;
    });
    return stream.pipe(response);
  };

  /** @param {IncomingMessage} request @param {ServerResponse} response */
  const answer = async (request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://hub').pathname);
    if (request.method === 'POST' || request.method === 'PUT') return take(request, response, path);
    const [, info, tree] =
      /^\/api\/models\/(org\/[^/]+)(?:\/revision\/[^/]+|(\/tree\/[^/]+))?$/.exec(path) ?? [];
    const [, model, name = ''] = /^\/(org\/[^/]+)\/resolve\/[^/]+\/(.+)$/.exec(path) ?? [];
    const directory = directoryOf(info ?? model ?? '');
    if (directory === undefined) return json(response, { error: 'Repository not found' }, 404);
    if (info !== undefined)
      return json(response, tree === undefined ? { id: info, sha: commit } : await treeOf(directory));
    if (!readdirSync(directory).includes(name)) return json(response, { error: 'Entry not found' }, 404);
    return send(request, response, join(directory, name));
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error) => response.destroy(error));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  hub.endpoint = `http://127.0.0.1:${address.port}`;
  return hub;
};

/**
 * The environment of a command that uses a hub, with its caches below `home`.
 *
 * @param {string} endpoint
 * @param {string} home
 */
export const hubEnvironment = (endpoint, home) => ({
  HF_ENDPOINT: endpoint,
  HF_HOME: home,
  HF_TOKEN: 'hf_bench',
  LAYERLOOM_CACHE: join(home, 'layerloom'),
});
