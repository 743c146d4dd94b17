// @ts-check
// A hub with wrong answers: the server of test/hub, in this process. Each request is a call that may have a
// fault. Faults below answers, such as refused connections and cut reads, come from the library
// (preload.cpp).
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import { leftover } from './invariants.mjs';

/** @import { IncomingMessage, ServerResponse } from 'node:http' */
/** @import { Call, Fault, Fired } from './seam.mjs' */
/** @import { HubServer } from '../fixtures/hub-server.js' */
/** @import { HubUploads } from '../fixtures/hub-uploads.js' */
/** @import { Tree } from './tree.mjs' */
/** @import { OfHub, Place } from './workloads.mjs' */

const token = 'hf_writer';

/** The workload's hub caches. @param {Place} place */
const homeOf = ({ work }) => join(work, 'hf');

/**
 * A tree without the hub's caches, which may hold more than needed. Keeps remains, except links that were not
 * yet put in place: once a model is whole, nothing reads its folder of ranges again.
 *
 * @param {Tree} tree @returns {Tree}
 */
export const withoutCaches = (tree) =>
  new Map(
    [...tree].filter(
      ([name, content]) =>
        !/^hf(\/|$)/.test(name) || (leftover.test(`/${name}`) && !content.startsWith('-> ')),
    ),
  );

/**
 * Compiles and imports the server's TypeScript modules.
 * @param {string} folder for the compiled modules
 * @returns {Promise<typeof import('../fixtures/hub-server.js') & typeof
 * import('../fixtures/hub-uploads.js')>}
 */
const serverModules = async (folder) => {
  const outfile = join(folder, 'hub-server.mjs');
  await build({
    stdin: {
      contents: "export * from './hub-server.js'; export * from './hub-uploads.js';",
      resolveDir: fileURLToPath(new URL('../fixtures', import.meta.url)),
      loader: 'ts',
    },
    ...{ outfile, bundle: true, platform: 'node', format: 'esm', external: ['vitest'] },
  });
  return await import(pathToFileURL(outfile).href);
};

/**
 * An answer that is complete but not sent. @typedef {{ status: number; headers: Record<string, unknown>;
 * body: Buffer }} Made
 */

/**
 * Holds an answer back; `send` decides whether to send it.
 *
 * @param {ServerResponse} response @param {(made: Made) => void} send
 */
const caught = (response, send) => {
  const { writeHead, end } = response;
  /** @type {Made} */
  const made = { status: 200, headers: {}, body: Buffer.alloc(0) };
  const add = (/** @type {unknown} */ chunk) => {
    if (typeof chunk === 'string' || chunk instanceof Uint8Array)
      made.body = Buffer.concat([made.body, Buffer.from(/** @type {string} */ (chunk))]);
  };
  Object.assign(response, {
    writeHead: (/** @type {number} */ status, headers = {}) => {
      Object.assign(made, { status, headers: { ...headers } });
      return response;
    },
    write: (/** @type {unknown} */ chunk, /** @type {(() => void) | undefined} */ done) => {
      add(chunk);
      if (done !== undefined) setImmediate(done);
      return true;
    },
    end: (/** @type {unknown} */ chunk) => {
      add(chunk);
      Object.assign(response, { writeHead, write: Object.getPrototypeOf(response).write, end });
      send(made);
      return response;
    },
  });
};

/** @param {Buffer} bytes */
const half = (bytes) => bytes.subarray(0, Math.floor(bytes.length / 2));

/**
 * Changes the numbers of the range in an answer's headers.
 * @param {Made} made
 * @param {(begin: number, end: number, total: number) => [number, number, number]} other
 */
const withRange = ({ headers }, other) => {
  const found = /^bytes (\d+)-(\d+)\/(\d+)$/.exec(String(headers['content-range'] ?? ''));
  if (found === null) return;
  const [begin, last, total] = other(Number(found[1]), Number(found[2]), Number(found[3]));
  headers['content-range'] = `bytes ${begin}-${last}/${total}`;
};

/**
 * Changes of answers that are sent whole, by the fault's action.
 * @type {Readonly<Record<string, (made: Made) => void>>}
 */
const changes = {
  // Well formed, with half of the requested bytes.
  short: (made) => {
    made.body = half(made.body);
    made.headers['content-length'] = made.body.length;
    withRange(made, (begin, _, total) => [begin, begin + made.body.length - 1, total]);
  },
  shift: (made) => withRange(made, (begin, last, total) => [begin + 1, last + 1, total]),
  grown: (made) => withRange(made, (begin, last, total) => [begin, last, total + 1]),
  // Other content at the same address, with its own name.
  changed: (made) => {
    for (const name of ['etag', 'x-linked-etag'])
      if (made.headers[name] !== undefined) made.headers[name] = `"${'0'.repeat(64)}"`;
    if (made.headers['etag'] !== undefined) made.body = Buffer.from(made.body.map((byte) => byte ^ 1));
  },
};

/**
 * Ways to end an answer's connection, by the fault's action.
 * @type {Readonly<Record<string, (response: ServerResponse, made: Made) => void>>}
 */
const ends = {
  // The request is carried out, but its answer is lost.
  lost: ({ req }) => req.socket.resetAndDestroy(),
  cut: (response, { status, headers, body }) =>
    response
      .writeHead(status, /** @type {{}} */ (headers))
      .write(half(body), () => response.socket?.destroy()),
  torn: (response, { status, headers, body }) =>
    response
      .writeHead(status, /** @type {{}} */ (headers))
      .write(half(body), () => response.socket?.resetAndDestroy()),
  stall: (response, { status, headers, body }) =>
    response.writeHead(status, /** @type {{}} */ (headers)).write(half(body)),
  twice: (response, { status, headers, body }) => {
    const { socket } = response.req;
    response.writeHead(status, /** @type {{}} */ (headers)).end(body);
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}');
  },
};

export class Hub {
  #modules;
  /** @type {HubServer} */
  server;
  /** @type {HubUploads} */
  uploads;
  /** @type {Call[]} */
  calls = [];
  /** @type {Fired[]} */
  fired = [];
  /** @type {Set<string>} */
  #models = new Set();
  /** Files with a served range. @type {Set<string>} */
  #served = new Set();
  /** @type {readonly Fault[]} */
  #faults = [];
  /** @type {Map<string, number>} */
  #counts = new Map();

  /** @param {Awaited<ReturnType<typeof serverModules>>} modules */
  constructor(modules) {
    this.#modules = modules;
    this.server = new modules.HubServer({
      ...{ tokens: [token], granted: [token] },
      before: (host, request, response) => this.#before(host, request, response),
    });
    this.uploads = this.#emptyUploads({});
  }

  /** @param {string} folder for compiled modules */
  static async start(folder) {
    const hub = new Hub(await serverModules(folder));
    await hub.server.start();
    return hub;
  }

  /** A user's environment variables. @param {Place} place */
  variables(place) {
    return {
      ...{ HF_ENDPOINT: this.server.endpoint, HF_TOKEN: token, HF_HOME: homeOf(place) },
      // Seconds without a byte after which a connection is closed.
      HF_HUB_DOWNLOAD_TIMEOUT: '0.2',
    };
  }

  get ports() {
    return [this.server.endpoint, this.server.cdn].map((address) => Number(new URL(address).port));
  }

  /** @param {NonNullable<OfHub['uploads']>} uploads */
  #emptyUploads(uploads) {
    this.server.routes.length = 0;
    return new this.#modules.HubUploads(this.server, { writers: [token], ...uploads });
  }

  /**
   * Resets: forgets pushes, and applies these faults to the requests from now on.
   *
   * @param {OfHub | undefined} of @param {Place} place @param {readonly Fault[]} [faults]
   */
  begin(of, place, faults = []) {
    for (const id of this.uploads.made.keys()) this.server.removeModel(id);
    this.uploads = this.#emptyUploads(of?.uploads ?? {});
    for (const [id, directory] of Object.entries(of?.models?.(place) ?? {}))
      if (!this.#models.has(id)) {
        this.server.addDirectory(id, directory);
        this.#models.add(id);
      }
    const { id, before = new Map() } = of?.push?.(place) ?? {};
    if (id !== undefined && before.size > 0) this.uploads.add(id, before);
    this.resume(faults);
  }

  /** Takes other faults. @param {readonly Fault[]} [faults] */
  resume(faults = []) {
    this.#faults = faults.filter(({ kind }) => kind === 'answer');
    Object.assign(this, { calls: [], fired: [] });
    this.#counts.clear();
    this.#served.clear();
  }

  /**
   * Checks the hub's and the local caches' contents.
   *
   * @param {OfHub | undefined} of @param {Place} place @param {boolean} isDone true if the command reports
   * success
   * @param {string} [stdout] its output in that case
   */
  wrong(of, place, isDone, stdout) {
    const push = of?.push?.(place);
    return [
      ...wrongCache(homeOf(place), of?.models?.(place)),
      ...(push === undefined ? [] : wrongPush(this, push, isDone)),
      ...(push === undefined || !isDone || stdout === undefined ? [] : wrongStates(this, push, stdout)),
    ];
  }

  /** @param {'hub' | 'cdn'} host @param {IncomingMessage} request @param {ServerResponse} response */
  async #before(host, request, response) {
    const { method = '', url = '', headers } = request;
    const path = [host, method, url.replace(/\?(Signature|uploadId).*$/, ''), headers.range ?? '']
      .join(' ')
      .trim();
    const occurrence = (this.#counts.get(path) ?? 0) + 1;
    this.#counts.set(path, occurrence);
    this.calls.push({ kind: 'answer', path, occurrence });
    const fault = this.#faults.find(
      (one) =>
        (one.path === path || one.path === '*') &&
        (one.path === '*' || one.occurrence === occurrence || (one.onwards && occurrence > one.occurrence)),
    );
    const [, file = ''] = /^(cdn GET \S+)/.exec(path) ?? [];
    const isFirst = file !== '' && !this.#served.has(file);
    this.#served.add(file);
    // Ranges cannot be verified: only a range that differs from earlier ones shows other content.
    if (fault === undefined || (isFirst && fault.action === 'changed')) return false;
    const { action, number = 0 } = fault;
    this.fired.push({ kind: 'answer', path, action, number });
    return await this.#fail(action, number, request, response);
  }

  /** @param {string} action @param {number} number @param {IncomingMessage} request @param {ServerResponse} response */
  async #fail(action, number, request, response) {
    const change = changes[action];
    const end = ends[action];
    if (action === 'reset') request.socket.resetAndDestroy();
    else if (action === 'busy' || action === 'refused' || action === 'page') {
      request.resume();
      const isPage = action === 'page';
      response
        .writeHead(isPage ? 200 : number, {
          'content-type': isPage ? 'text/html' : 'application/json',
          ...(number === 429 ? { 'retry-after': '1' } : {}),
        })
        .end(isPage ? '<!DOCTYPE html><html><body>Log in</body></html>' : '{"error":"not now"}');
    } else {
      if (action === 'delay') await pause(number);
      if (action === 'whole') delete request.headers.range;
      if (end !== undefined) caught(response, (made) => end(response, made));
      else if (change !== undefined)
        caught(response, (made) => {
          change(made);
          response.writeHead(made.status, /** @type {{}} */ (made.headers)).end(made.body);
        });
      return false;
    }
    return true;
  }
}

/**
 * Checks that a user's caches match the models in `sources`: whole files by their names, ranges by their
 * records.
 *
 * @param {string} home `HF_HOME`
 * @param {Readonly<Record<string, string>>} [sources] directories by the models' names
 */
const wrongCache = (home, sources = {}) =>
  Object.entries(sources).flatMap(([id, source]) => {
    const folder = `models--${id.replace('/', '--')}`;
    const hub = join(home, 'hub', folder);
    const ofBlobs = namesIn(join(hub, 'blobs')).flatMap((name) => {
      const bytes = readFileSync(join(hub, 'blobs', name));
      const isGit = name.length === 40;
      const hash = createHash(isGit ? 'sha1' : 'sha256').update(isGit ? `blob ${bytes.length}\0` : '');
      const isRight = name.endsWith('.incomplete') || hash.update(bytes).digest('hex') === name;
      return isRight ? [] : [`the cache's blob ${name} of ${id} has other bytes (${bytes.length})`];
    });
    const ofRefs = namesIn(join(hub, 'refs')).flatMap((name) => {
      const text = readFileSync(join(hub, 'refs', name), 'utf8');
      return /^[0-9a-f]{40}$/.test(text) || name.endsWith('.incomplete')
        ? []
        : [`the cache's ${name} of ${id} is "${text}"`];
    });
    const ranges = join(home, 'layerloom', folder);
    const ofRanges = namesIn(ranges).flatMap((commit) =>
      namesIn(join(ranges, commit, '.ranges')).flatMap((name) => {
        if (!name.endsWith('.jsonl')) return [];
        const file = name.slice(0, -'.jsonl'.length);
        return wrongRanges(join(ranges, commit), file, readFileSync(join(source, file))).map(
          (wrong) => `${id}/${file} in the cache ${wrong}`,
        );
      }),
    );
    return [...ofBlobs, ...ofRefs, ...ofRanges];
  });

/** @param {string} directory */
const namesIn = (directory) => {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
};

/** @param {string} folder @param {string} file @param {Buffer} source */
const wrongRanges = (folder, file, source) => {
  const [first = '', ...lines] = readFileSync(join(folder, '.ranges', `${file}.jsonl`), 'utf8').split('\n');
  if (!/^\{.*\}$/.test(first)) return [];
  /** @type {Buffer} */
  let bytes;
  try {
    bytes = readFileSync(join(folder, file));
  } catch {
    return [];
  }
  if (bytes.length !== source.length) return [];
  return lines.flatMap((line) => {
    const found = /^\[(\d+),(\d+)\]$/.exec(line);
    if (found === null) return [];
    const [begin, end] = [Number(found[1]), Number(found[2])];
    return bytes.subarray(begin, end).equals(source.subarray(begin, end))
      ? []
      : [`has other bytes in ${line}, which its record has`];
  });
};

/** A directory's files that belong on the hub, by name. @param {string} directory */
export const filesToPush = (directory) =>
  new Map(
    readdirSync(directory)
      .filter((name) => name !== 'layerloom.json')
      .map((name) => [name, readFileSync(join(directory, name))]),
  );

/**
 * Compares the bytes of two sets of files.
 * @param {ReadonlyMap<string, Buffer>} one
 * @param {ReadonlyMap<string, Buffer>} other
 */
const isSame = (one, other) =>
  one.size === other.size && [...one].every(([name, bytes]) => other.get(name)?.equals(bytes));

/**
 * Checks a repository's contents: empty, unchanged, or the whole push.
 *
 * @param {Hub} hub
 * @param {ReturnType<NonNullable<OfHub['push']>>} push
 * @param {boolean} isDone true if the command reports success
 */
const wrongPush = (hub, { id, before, after }, isDone) => {
  const found = new Map(hub.uploads.contents.get(id));
  found.delete('.gitattributes');
  if (isSame(after, found)) return [];
  const names = [...found.keys()].join(', ') || 'nothing';
  if (isDone) return [`${id} was reported pushed, and has ${names}`];
  return isSame(before, found) ? [] : [`${id} is half pushed: it has ${names}`];
};

/**
 * Checks a push's report on each file: copied files were copied on the hub, and only files reported as sent
 * were sent.
 *
 * @param {Hub} hub
 * @param {ReturnType<NonNullable<OfHub['push']>>} push
 * @param {string} stdout
 */
const wrongStates = ({ uploads }, { after }, stdout) => {
  /** @type {import('../../src/index.js').PushResult} */
  const { files, bytesSent } = JSON.parse(stdout);
  const copied = new Set(uploads.copied.map(({ sha256 }) => sha256));
  // All other files are in the commit.
  const large = files.filter(({ name, state }) => name.endsWith('.safetensors') && state === 'sent');
  const most = large.reduce((sum, { bytes }) => sum + bytes, 0);
  return [
    ...files.flatMap(({ name, state }) =>
      state !== 'copied' || copied.has(sha256Of(after.get(name)))
        ? []
        : [`${name} was reported copied, and the hub has not copied it`],
    ),
    ...(bytesSent > most ? [`${bytesSent} bytes were reported sent, of files of ${most}`] : []),
  ];
};

/** @param {Buffer | undefined} bytes */
const sha256Of = (bytes = Buffer.alloc(0)) => createHash('sha256').update(bytes).digest('hex');
