import { readFileSync, rmSync, truncateSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { push } from '../../src/api/push.js';
import { checkAnswer } from '../../src/core/models/sources/hub/push/upload/answers.js';
import { layerSwap } from '../../src/index.js';
import { cli } from '../fixtures/cli.js';
import { writeFamily } from '../fixtures/family.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { type HubServer, startHub } from '../fixtures/hub-server.js';
import { HubUploads } from '../fixtures/hub-uploads.js';

// Pushes to hubs and storages that refuse or answer like none, and of files that change meanwhile.

const prepare = async () => {
  const hub = await startHub({ tokens: ['writer'], granted: ['writer'] });
  const uploads = new HubUploads(hub, { writers: ['writer'] });
  const family = writeFamily();
  const directory = join(family.root, 'out');
  await layerSwap({ task: family.a, language: family.b, bottom: 2, top: 1 }, { out: directory });
  const env = hubUser(hub, { HF_TOKEN: 'writer', HF_HUB_DOWNLOAD_TIMEOUT: '1' });
  return { hub, uploads, directory, env, pushIt: () => push(directory, 'me/merged', impatient(env)) };
};

type Answer = (request: IncomingMessage, response: ServerResponse) => unknown;

const instead = (hub: HubServer, path: RegExp, answer: Answer): void => {
  hub.routes.unshift(async (request, response, url) => {
    if (!path.test(url.pathname)) return false;
    await answer(request, response);
    return true;
  });
};

const bodyOf = async (request: IncomingMessage): Promise<Buffer> => Buffer.concat(await request.toArray());

const json = (response: ServerResponse, value: unknown, status = 200): void => {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
};

interface Asked {
  readonly objects: readonly { readonly oid: string; readonly size: number }[];
}

/** Answers with upload addresses for large files, each from `upload`. */
const batch =
  (upload: (object: Asked['objects'][number]) => object, more: object = {}): Answer =>
  async (request, response) => {
    const { objects } = JSON.parse((await bodyOf(request)).toString()) as Asked;
    const answered = objects.map((object) => ({ ...object, actions: { upload: upload(object) } }));
    json(response, { objects: answered, ...more });
  };

const batchPath = /objects\/batch$/;

describe('a push whose storage refuses a file', () => {
  it.each([400, 403, 404, 410])('with %i ends, and blames its address', async (status) => {
    const { hub, uploads, env, directory } = await prepare();
    instead(hub, /^\/storage\//, async (request, response) => {
      await bodyOf(request);
      response.writeHead(status).end('<Error><Message>Request has expired</Message></Error>');
    });
    const begin = Date.now();
    const { code, stderr } = await cli(['push', directory, 'me/merged', '--quiet'], env);
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(
        `the storage 127.0.0.1:\\d+ answers ${status} \\(Request has expired\\) to the upload of .*safetensors: the address that the hub gave for it is refused, or has expired; push again`,
      ),
    );
    expect(stderr).not.toContain('HF_TOKEN');
    expect(Date.now() - begin).toBeLessThan(20_000);
    expect(uploads.commits).toEqual([]);
  });
});

const href = 'http://127.0.0.1:1/x';

const refused: Record<string, readonly [RegExp, Answer, RegExp]> = {
  'an upload address that is none': [
    batchPath,
    batch(() => ({ href: 'http://[bad' })),
    /objects\.0\.actions\.upload\.href: is no address of a server/,
  ],
  'the address of a file': [batchPath, batch(() => ({ href: 'file:///etc/passwd' })), /is no address/],
  'parts of no bytes': [
    batchPath,
    batch(() => ({ href, header: { chunk_size: '0', '00001': href } })),
    /\(parts of 0 bytes\); check HF_ENDPOINT/,
  ],
  'parts of less than no bytes': [
    batchPath,
    batch(() => ({ href, header: { chunk_size: '-5', '00001': href } })),
    /\(parts of -5 bytes\)/,
  ],
  'too few parts': [
    batchPath,
    batch(() => ({ href, header: { chunk_size: '1', '00001': href } })),
    /\(1 parts of 1 bytes for a file of \d+\)/,
  ],
  'a part without an address': [
    batchPath,
    batch(({ size }) => ({ href, header: { chunk_size: String(size), '00001': 'http://[bad' } })),
    /is no address of a server/,
  ],
  'nothing about a large file': [
    batchPath,
    (_, response) => json(response, { objects: [] }),
    /\(nothing about [0-9a-f]{64}\)/,
  ],
  'a large file that was not asked for': [
    batchPath,
    (_, response) => json(response, { objects: [{ oid: 'a' }] }),
    /\(a was not asked for\)/,
  ],
  'no list of large files': [batchPath, (_, response) => json(response, null), /expected object/],
  'null for ways to send files': [/preupload/, (_, response) => json(response, null), /expected object/],
  'no way to send a file': [
    /preupload/,
    (_, response) => json(response, { files: [] }),
    /\(nothing about .*\.safetensors\)/,
  ],
  'null for files that are there': [/paths-info/, (_, response) => json(response, null), /expected array/],
  'null for a repository': [/repos\/create/, (_, response) => json(response, null), /expected object/],
  'null for a commit': [/\/commit\//, (_, response) => json(response, null), /expected object/],
  'a commit without its hash': [
    /\/commit\//,
    (_, response) => json(response, { success: true }),
    /\(commitOid: .*\)/,
  ],
  'a commit that is cut': [
    /\/commit\//,
    (_, response) => response.end('{"commitOid": "'),
    /sends what is not JSON/,
  ],
  'an answer without end': [
    /\/commit\//,
    (_, response) => {
      const timer = setInterval(() => response.write(' '), 100);
      response.on('close', () => clearInterval(timer));
    },
    /sends an answer that does not end/,
  ],
};

describe('a push is given up where the hub answers', () => {
  it.each(Object.entries(refused))('%s', async (_, [path, answer, message]) => {
    const { hub, pushIt } = await prepare();
    instead(hub, path, answer);
    await expect(pushIt()).rejects.toMatchObject({
      code: 'HUB_UNAVAILABLE',
      exitCode: 1,
      details: { endpoint: hub.endpoint },
      message: expect.stringMatching(message) as string,
    });
  });

  it.each([
    ['one large file of several', (index: number) => index === 1],
    ['all large files', () => true],
  ])('that it refuses %s', async (_, isRefused) => {
    const { hub, pushIt } = await prepare();
    instead(hub, batchPath, async (request, response) => {
      const { objects } = JSON.parse((await bodyOf(request)).toString()) as Asked;
      const error = { code: 422, message: 'too many\nof them' };
      json(response, {
        objects: objects.map((object, index) => (isRefused(index) ? { ...object, error } : object)),
      });
    });
    await expect(pushIt()).rejects.toMatchObject({
      code: 'PUSH_REFUSED',
      message: expect.stringMatching(/for .*\.safetensors: too many\\u000aof them/) as string,
    });
  });

  it('with a status of 400 and null', async () => {
    const { hub, pushIt } = await prepare();
    instead(hub, /\/commit\//, (_, response) => json(response, null, 400));
    await expect(pushIt()).rejects.toMatchObject({
      code: 'PUSH_REFUSED',
      message: expect.stringContaining('it answers 400') as string,
    });
  });
});

describe('a file that is', () => {
  it.each<[string, (path: string) => void]>([
    ['removed', (path) => rmSync(path)],
    ['made shorter', (path) => truncateSync(path, 10)],
  ])('%s during a push ends it at once', async (_, change) => {
    const { hub, uploads, directory, env, pushIt } = await prepare();
    const names = readFileSync(join(directory, 'model.safetensors.index.json'), 'utf8').match(
      /model-\d+-of-\d+\.safetensors/g,
    );
    const last = join(directory, [...new Set(names)].sort().at(-1) ?? '');
    let puts = 0;
    hub.routes.unshift((request) => {
      if (request.method !== 'PUT') return false;
      puts += 1;
      if (puts === 1) change(last);
      return false;
    });
    await expect(pushIt()).rejects.toMatchObject({ code: 'READ_FAILED', details: { file: last } });
    expect(env['HF_TOKEN']).toBe('writer');
    expect(uploads.commits).toEqual([]);
  });
});

describe('a large file', () => {
  it('has its parts in order, also where there are ten thousand', () => {
    const bytes = 10_000;
    const parts = Array.from({ length: bytes }, (_, index) => [
      String(index + 1).padStart(5, '0'),
      `http://storage.test/${index + 1}`,
    ]);
    const header = { chunk_size: '1', ...Object.fromEntries(parts) };
    const objects = [{ oid: 'one', size: bytes }];
    const answer = checkAnswer(
      '/me/merged.git/info/lfs/objects/batch',
      { objects: [{ oid: 'one', actions: { upload: { href: 'http://hub.test/complete', header } } }] },
      { objects },
    ) as { checked: { objects: { actions: { upload: { header: Record<string, string> } } }[] } };
    const { chunk_size: _, ...ordered } = answer.checked.objects[0]?.actions.upload.header ?? {};
    expect(Object.keys(ordered).map(Number)).toEqual(Array.from({ length: bytes }, (_, index) => index + 1));
  });

  it('goes to the Xet storage with the token of that storage', async () => {
    const { hub, uploads, pushIt } = await prepare();
    const sent: { path: string; authorization: string | undefined; bytes: number }[] = [];
    instead(
      hub,
      batchPath,
      batch(
        ({ oid }) => {
          uploads.storage.set(oid, Buffer.from(oid));
          return { href: `${hub.endpoint}/api/models/me/merged/xet-write-token/main`, header: {} };
        },
        { transfer: 'xet' },
      ),
    );
    instead(hub, /xet-write-token/, (_, response) =>
      json(response, {
        accessToken: 'xet-token',
        casUrl: `${hub.endpoint}/cas`,
        exp: Date.now() / 1000 + 900,
      }),
    );
    instead(hub, /^\/cas\//, async (request, response) => {
      const { authorization } = request.headers;
      if (request.method === 'GET') {
        response.writeHead(404).end('not known');
        return;
      }
      sent.push({ path: request.url ?? '', authorization, bytes: (await bodyOf(request)).length });
      json(response, { was_inserted: true });
    });
    expect((await pushIt()).commit).toMatch(/^[0-9a-f]{40}$/);
    expect(sent.some(({ path }) => path.startsWith('/cas/v1/xorbs/'))).toBe(true);
    expect(sent.some(({ path }) => path === '/cas/v1/shards')).toBe(true);
    for (const { authorization, bytes } of sent) {
      expect(authorization).toBe('Bearer xet-token');
      expect(bytes).toBeGreaterThan(0);
    }
  });
});
