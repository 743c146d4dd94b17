import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { cli } from '../fixtures/cli.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { type HubServer, type Route, startHub } from '../fixtures/hub-server.js';

// Answers that no hub gives. Each ends with an error that names the hub, and within a limited time.

const secondsOfSilence = '0.2';

const prepare = async (): Promise<HubServer> => {
  const hub = await startHub();
  hub.addDirectory('org/model', writeCheckpoint(join(temporaryDirectory(), 'model'), llama()));
  return hub;
};

const user = (hub: Pick<HubServer, 'endpoint'>, more: Record<string, string> = {}) =>
  impatient(hubUser(hub, { HF_HUB_DOWNLOAD_TIMEOUT: secondsOfSilence, ...more }));

const json = (response: ServerResponse, value: unknown, headers: Record<string, string> = {}): true => {
  response.writeHead(200, { 'content-type': 'application/json', ...headers });
  response.end(JSON.stringify(value));
  return true;
};

const on =
  (path: RegExp, answer: (response: ServerResponse, url: URL) => unknown): Route =>
  (_, response, url) => {
    if (!path.test(url.pathname)) return false;
    answer(response, url);
    return true;
  };

/** Writes for ever, with pauses shorter than the timeout of a silent connection. */
const trickle = (response: ServerResponse, text = ' '): void => {
  const timer = setInterval(() => response.write(text), 50);
  response.on('close', () => clearInterval(timer));
};

const flood = (response: ServerResponse, text: string): void => {
  const chunk = Buffer.alloc(1024 * 1024, text);
  const timer = setInterval(() => response.write(chunk), 1);
  response.on('close', () => clearInterval(timer));
};

const entry = (path: string, size: unknown = 1) => ({ type: 'file', path, size, oid: 'a'.repeat(40) });

const bomb = gzipSync(Buffer.alloc(100_000_000, ' '));

const redirect = (location: string) => (response: ServerResponse) =>
  response.writeHead(302, { location }).end('moved');

const hostile: Record<string, readonly [Route, RegExp]> = {
  'a redirect without an address': [
    on(/revision/, (response) => response.writeHead(302).end()),
    /answers 302, and not with the address of another server; check HF_ENDPOINT$/,
  ],
  'a redirect to a file': [on(/config\.json$/, redirect('file:///etc/passwd')), /answers 302, and not with/],
  'a redirect to what is no address': [on(/config\.json$/, redirect('http://[bad')), /answers 302, and not/],
  'a redirect to a port that is none': [on(/revision/, redirect('http://127.0.0.1:99999/')), /answers 302/],
  'redirects in a circle': [
    on(/revision/, (response, url) => redirect(url.pathname)(response)),
    /redirects more than 10 times/,
  ],
  'a list whose pages do not end': [
    on(/tree/, (response, url) => {
      const page = Number(url.searchParams.get('page') ?? 0) + 1;
      json(response, [entry(`file-${page}`)], { link: `<${url.pathname}?page=${page}>; rel="next"` });
    }),
    /lists the files of org\/model on more than 200 pages/,
  ],
  'a list with a next page that has no address': [
    on(/tree/, (response) => json(response, [], { link: '<http://[bad>; rel="next"' })),
    /lists the files of org\/model with a next page that has no address/,
  ],
  ...Object.fromEntries(
    [-5, 10.5, 2 ** 52, 1e300, '7', null].map((size): [string, readonly [Route, RegExp]] => [
      `a size of ${JSON.stringify(size)}`,
      [
        on(/tree/, (response) => json(response, [entry('config.json', size)])),
        /lists org\/model\/config\.json with .* bytes, as no hub does; check HF_ENDPOINT$/,
      ],
    ]),
  ),
  'a file without the name of its content': [
    on(/tree/, (response) => json(response, [{ ...entry('a'), oid: '../../x' }])),
    /lists org\/model\/a without the name of its content/,
  ],
  'a name of a content that is too long': [
    on(/tree/, (response) => json(response, [{ ...entry('a'), oid: '-'.repeat(300) }])),
    /lists org\/model\/a without the name of its content/,
  ],
  'a name that is no text': [
    on(/tree/, (response) => json(response, [entry('tokenizer\ud800.json')])),
    /lists org\/model\/tokenizer.*\.json with a name that is no text/,
  ],
  'a large file without a SHA-256': [
    on(/tree/, (response) => json(response, [{ ...entry('a'), lfs: { size: 1 } }])),
    /lists org\/model\/a without a SHA-256/,
  ],
  null: [on(/revision/, (response) => json(response, null)), /answers without the commit of a model/],
  'JSON that is cut': [
    on(/revision/, (response) => response.end('{"sha": "')),
    /sends what is not JSON \(tried 4 times\)/,
  ],
  'JSON that is deep': [on(/revision/, (response) => response.end('['.repeat(3e6))), /is not JSON/],
  'JSON that comes slowly and without end': [
    on(/revision/, (response) => trickle(response)),
    /sends an answer that does not end; check HF_ENDPOINT$/,
  ],
  'JSON that comes fast and without end': [
    on(/revision/, (response) => flood(response, ' ')),
    /sends an answer that does not end/,
  ],
  'compressed JSON without end': [
    on(/revision/, (response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' });
      response.end(bomb);
    }),
    /sends an answer that does not end/,
  ],
  'JSON that is not compressed as it says': [
    on(/revision/, (response) => json(response, {}, { 'content-encoding': 'gzip' })),
    /sends what is not compressed as it says/,
  ],
  'an encoding that was not asked for': [
    on(/revision/, (response) => json(response, {}, { 'content-encoding': 'x-own' })),
    /sends an answer with content-encoding: x-own/,
  ],
  'notices that an answer will come, and none': [
    on(/revision/, (response) => {
      const timer = setInterval(() => response.writeProcessing(), 50);
      response.on('close', () => clearInterval(timer));
    }),
    /(gave no answer in 0\.6 s|sent nothing for 0\.2 s) \(tried 4 times\)/,
  ],
};

describe('a hub is given up that answers with', () => {
  it.each(Object.entries(hostile))('%s', async (_, [route, message]) => {
    const hub = await prepare();
    hub.routes.push(route);
    const begin = Date.now();
    await expect(bringHeaders('org/model', user(hub))).rejects.toMatchObject({
      code: 'HUB_UNAVAILABLE',
      message: expect.stringMatching(message) as string,
      details: { endpoint: hub.endpoint },
    });
    expect(Date.now() - begin).toBeLessThan(20_000);
  });
});

describe('a hub is not waited for', () => {
  it('where the body of a redirect does not end', async () => {
    const hub = await prepare();
    hub.routes.push(
      on(/^\/(api|org)/, (response, url) => {
        response.writeHead(302, { location: `${url.pathname.replace('/', '/moved/')}${url.search}` });
        trickle(response);
      }),
    );
    hub.routes.push((request, response, url) => {
      if (!url.pathname.startsWith('/moved/')) return false;
      const target = `${hub.endpoint}${(request.url ?? '').replace('/moved', '')}`;
      // The client fetches the hub's own answer past the route above.
      response.writeHead(404, { 'x-error-code': 'EntryNotFound', 'x-target': target }).end();
      return true;
    });
    await expect(bringHeaders('org/model', user(hub))).rejects.toMatchObject({ code: 'HUB_NOT_FOUND' });
  });

  it('where the body of a refusal does not end', async () => {
    const hub = await prepare();
    hub.routes.push(
      on(/config\.json$/, (response) => {
        response.writeHead(403);
        trickle(response);
      }),
    );
    await expect(bringHeaders('org/model', user(hub))).rejects.toMatchObject({ code: 'HUB_ACCESS' });
  });

  it('by way of a proxy that does not answer', async () => {
    const proxy = createServer().listen(0, '127.0.0.1');
    proxy.on('connect', (_, socket) => socket.on('error', () => {}));
    await once(proxy, 'listening');
    onTestFinished(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    const http_proxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await expect(bringHeaders('org/model', user(await prepare(), { http_proxy }))).rejects.toMatchObject({
      code: 'HUB_UNAVAILABLE',
      message: expect.stringMatching(
        /(gave no answer in 0\.6 s|sent nothing for 0\.2 s) \(tried 4 times\)/,
      ) as string,
    });
  });
});

describe('a command that waits for a hub', () => {
  it('says so, and why', async () => {
    const hub = await prepare();
    const fault = { kind: 'status', status: 429, headers: { 'retry-after': '3' }, on: /revision/ } as const;
    hub.faults.push(fault);
    const { code, stderr } = await cli(['inspect', 'org/model', '--download', '--json'], hubUser(hub));
    expect(code).toBe(0);
    expect(stderr).toMatch(/^waiting 3 s: 127\.0\.0\.1:\d+ answers 429$/m);
  });
});

describe('a password', () => {
  const password = 'PASSWORDSECRET';

  it.each([
    `http://user:${password}@127.0.0.1:1`,
    `http://user:${password}@hub.invalid/mirror/`,
    `http://user:${password}@[bad`,
    `http://user:${password}@127.0.0.1:1/?a=`,
    `user:${password}@hub.invalid`,
    `https://user:p@ss:${password}/x@hub.invalid:port`,
  ])('of HF_ENDPOINT %s is in no text', async (HF_ENDPOINT) => {
    const env = {
      HF_ENDPOINT,
      HF_HOME: temporaryDirectory(),
      HF_TOKEN: 'hf_x',
      HF_HUB_DOWNLOAD_TIMEOUT: '1',
    };
    const [model, out] = [join(temporaryDirectory(), 'model'), join(temporaryDirectory(), 'out')];
    writeCheckpoint(model, llama());
    const lines = [
      ['inspect', 'org/model', '--download', '--json', '-v'],
      ['push', model, 'org/model', '--dry-run', '--json', '-v'],
      ['push', model, 'org/model', '--json', '-v'],
      ['relayout', 'org/model', '-o', out, '--download', '-v'],
    ];
    const runs = lines.map(async (args) => {
      const { code, stdout, stderr } = await cli(args, env);
      expect(code, args[0]).toBe(args.includes('--dry-run') ? 0 : 1);
      expect(stdout + stderr).not.toContain(password);
    });
    await Promise.all(runs);
  });

  it.each([
    `http://user:${password}@[bad`,
    `socks5://user:${password}@127.0.0.1:1`,
    `http://user:%ZZ${password}@127.0.0.1:1`,
  ])('of the proxy %s is in no text', async (HTTP_PROXY) => {
    const env = { HF_ENDPOINT: 'http://hub.invalid', HF_HOME: temporaryDirectory(), HTTP_PROXY };
    const { code, stdout, stderr } = await cli(['inspect', 'org/model', '--download', '--json', '-v'], env);
    expect(code).toBe(1);
    expect(stdout + stderr).not.toContain(password);
    expect(stderr).toContain('HTTP_PROXY or ALL_PROXY is no address of a proxy that speaks HTTP');
  });

  it('in HF_ENDPOINT leaves its hub within reach, and is in no file', async () => {
    const hub = await prepare();
    const env = hubUser(hub, { HF_ENDPOINT: hub.endpoint.replace('//', `//user:${password}@`) });
    const out = join(temporaryDirectory(), 'out');
    const { code } = await cli(['relayout', 'org/model', '-o', out, '--download'], env);
    expect(code).toBe(0);
    for (const name of readdirSync(out))
      expect(readFileSync(join(out, name), 'latin1')).not.toContain(password);
  });
});

describe('compressed JSON', () => {
  it('is read', async () => {
    const hub = await prepare();
    const { id } = await bringHeaders('org/model', user(hub));
    const [commit] = hub.requests.map(({ path }) => /tree\/([0-9a-f]{40})/.exec(path)?.[1]).filter(Boolean);
    hub.routes.push(
      on(/revision/, (response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
        response.end(gzipSync(JSON.stringify({ sha: commit })));
      }),
    );
    expect(await bringHeaders('org/model', user(hub))).toMatchObject({ id, revision: commit });
  });
});
