import { once } from 'node:events';
import { existsSync, readdirSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { type Fault, fileOf, type HubServer, startHub } from '../fixtures/hub-server.js';
import { writeTorchCheckpoint } from '../fixtures/torch-files.js';

const [token, granted] = ['hf_member', 'hf_granted'];

const prepare = async (): Promise<HubServer> => {
  const hub = await startHub({ tokens: [token, granted], granted: [granted], pageSize: 2 });
  const source = writeCheckpoint(join(temporaryDirectory(), 'model'), llama());
  hub.addDirectory('org/model', source);
  hub.addDirectory('org/gated', source, { access: 'gated' });
  hub.addDirectory('org/private', source, { access: 'private' });
  const file = (name: string) => fileOf(name, Buffer.from('x'));
  hub.addModel('org/pickles', [file('config.json'), file('pytorch_model.bin')]);
  hub.addDirectory(
    'org/torch',
    writeTorchCheckpoint(join(temporaryDirectory(), 't'), llama({ hidden: 256 })),
  );
  hub.addModel('org/adapter', [file('adapter_model.safetensors')]);
  hub.addModel('org/short', [file('model.safetensors')]);
  const index = JSON.stringify({ weight_map: { a: 'model-00001-of-00002.safetensors' } });
  hub.addModel('org/torn', [fileOf('model.safetensors.index.json', Buffer.from(index))]);
  const outside = JSON.stringify({ weight_map: { a: '../../outside.safetensors' } });
  hub.addModel('org/unsafe', [fileOf('model.safetensors.index.json', Buffer.from(outside))]);
  for (const [id, name] of Object.entries({ code: 'model.py', record: '.ranges/a.safetensors' })) {
    const named = JSON.stringify({ weight_map: { a: name } });
    const files = [fileOf('model.safetensors.index.json', Buffer.from(named)), file(name)];
    hub.addModel(`org/${id}`, files);
  }
  return hub;
};

interface Refusal {
  readonly model: string;
  readonly env?: Record<string, string>;
  readonly faults?: readonly Fault[];
  readonly code: string;
  readonly message: RegExp;
}

const always = { times: 1000 };

const refusals: Record<string, Refusal> = {
  'an index that names code as weights': {
    ...{ model: 'org/code', code: 'INDEX_INVALID' },
    message: /its weight_map names model\.py, which is no \.safetensors file; only these are fetched$/,
  },
  'an index that names a record of the cache': {
    ...{ model: 'org/record', code: 'INDEX_INVALID' },
    message: /its weight_map names \.ranges\/a\.safetensors, which is hidden; nothing hidden is fetched$/,
  },
  'a model that does not exist': {
    ...{ model: 'org/none', code: 'HUB_NOT_FOUND' },
    message:
      /^org\/none: http.* has no such model, or it is private; check the name; for a private model set HF_TOKEN$/,
  },
  'a private model of others': {
    ...{ model: 'org/private', env: { HF_TOKEN: token }, code: 'HUB_NOT_FOUND' },
    message: /has no such model, or it is private and the token \(HF_TOKEN\) has no access/,
  },
  'a gated model without a token': {
    ...{ model: 'org/gated', code: 'HUB_ACCESS' },
    message:
      /^org\/gated: it is gated, and no token was given; accept its terms at http.*\/org\/gated, then set HF_TOKEN$/,
  },
  'a gated model for an account that has no access': {
    ...{ model: 'org/gated', env: { HUGGING_FACE_HUB_TOKEN: token }, code: 'HUB_ACCESS' },
    message: /account of the token \(HUGGING_FACE_HUB_TOKEN\) has no access; ask for it at/,
  },
  'a wrong token': {
    ...{ model: 'org/model', env: { HF_TOKEN: 'hf_wrong' }, code: 'HUB_ACCESS' },
    message:
      /refuses the token \(HF_TOKEN\) \(Invalid credentials in Authorization header\); make another at/,
  },
  'a revision that does not exist': {
    ...{ model: 'org/model@v9', code: 'HUB_NOT_FOUND' },
    message: /^org\/model: it has no revision v9; see its branches and tags at/,
  },
  'a revision that leads out of the cache': {
    ...{ model: 'org/model@../../../x', code: 'INVALID_PARAMETER' },
    message: /expected org\/name or org\/name@revision/,
  },
  'a file that PyTorch did not write': {
    ...{ model: 'org/pickles', code: 'FILE_TOO_SHORT' },
    message: /^org\/pickles\/pytorch_model\.bin has 1 byte,/,
  },
  'a file of PyTorch on a server that ignores ranges': {
    ...{
      model: 'org/torch',
      faults: [{ kind: 'ignore range', on: /./, ...always }],
      code: 'HUB_UNAVAILABLE',
    },
    message:
      /ignores byte ranges, by which alone pytorch_model\.bin is read; fetch all of it by `hf download org\/torch`/,
  },
  'an adapter': { model: 'org/adapter', code: 'NOT_A_CHECKPOINT', message: /it is an adapter/ },
  'a file that is no safetensors': {
    model: 'org/short',
    code: 'FILE_TOO_SHORT',
    message: /^org\/short\/model\.safetensors/,
  },
  'a shard that the hub lacks': { model: 'org/torn', code: 'FILE_MISSING', message: /00001-of-00002/ },
  'an index that leads out of the model': {
    model: 'org/unsafe',
    code: 'INDEX_UNSAFE_NAME',
    message: /outside/,
  },
  'a page of a proxy in place of the API': {
    ...{ model: 'org/model', faults: [{ kind: 'page', on: /revision/, ...always }], code: 'HUB_UNAVAILABLE' },
    message:
      /answers 200 with a page of HTML, as a proxy or a login page does; log in there, or set HTTPS_PROXY/,
  },
  'a page that calls itself JSON': {
    ...{ model: 'org/model', code: 'HUB_UNAVAILABLE', message: /page of HTML/ },
    faults: [{ kind: 'page', on: /tree/, type: 'application/json', ...always }],
  },
  'a page in place of a file': {
    ...{ model: 'org/model', code: 'HUB_UNAVAILABLE', message: /page of HTML/ },
    faults: [{ kind: 'page', on: /resolve.*safetensors/, ...always }],
  },
  'a page that calls itself a file': {
    ...{ model: 'org/model', code: 'HUB_UNAVAILABLE', message: /page of HTML/ },
    faults: [{ kind: 'page', on: /resolve.*config/, type: 'application/octet-stream', ...always }],
  },
  'a page of a proxy that refuses': {
    ...{ model: 'org/model', faults: [{ kind: 'page', status: 403, ...always }], code: 'HUB_UNAVAILABLE' },
    message: /answers 403 with a page of HTML/,
  },
  'a hub that is down': {
    ...{ model: 'org/model', faults: [{ kind: 'status', status: 503, ...always }], code: 'HUB_UNAVAILABLE' },
    message: /answers 503 \(tried 4 times\); run again later/,
  },
  'a server that is no hub': {
    ...{ model: 'org/model', faults: [{ kind: 'status', status: 200, body: '{}' }], code: 'HUB_UNAVAILABLE' },
    message: /answers without the commit of a model, as no hub does; check HF_ENDPOINT/,
  },
  'another content than was listed': {
    ...{ model: 'org/model', faults: [{ kind: 'etag', etag: 'f'.repeat(40), on: /resolve.*config/ }] },
    ...{
      code: 'HUB_FILE_CHANGED',
      message: /^org\/model: config.json was listed with the ETag .* now has f{40}/,
    },
  },
  HF_HUB_OFFLINE: {
    ...{ model: 'org/model', env: { HF_HUB_OFFLINE: '1' }, code: 'HUB_UNAVAILABLE' },
    message: /HF_HUB_OFFLINE forbids asking it; unset it, or use models that are in the cache/,
  },
  'an endpoint that is no address': {
    ...{ model: 'org/model', env: { HF_ENDPOINT: 'huggingface.co' }, code: 'HUB_UNAVAILABLE' },
    message: /^huggingface\.co: HF_ENDPOINT is no address/,
  },
  'a host that does not exist': {
    ...{ model: 'org/model', env: { HF_ENDPOINT: 'http://hub.invalid' }, code: 'HUB_UNAVAILABLE' },
    message:
      /^http:\/\/hub\.invalid: the connection to hub\.invalid failed: .*; check the network, HTTPS_PROXY and HF_ENDPOINT$/,
  },
};

describe('a download is refused with one message and its remedy for', () => {
  it.each(Object.entries(refusals))('%s', async (_, { model, env = {}, faults = [], code, message }) => {
    const hub = await prepare();
    hub.faults.push(...faults.map((fault) => ({ ...fault })));
    const user = hubUser(hub, env);
    await expect(bringHeaders(model, impatient(user))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message) as string,
    });
    const home = user['HF_HOME'] ?? '';
    const left = existsSync(home) ? readdirSync(home, { recursive: true, encoding: 'utf8' }) : [];
    expect(left.filter((name) => /refs\/|model\.json$|incomplete/.test(name))).toEqual([]);
  });

  it('a server that hangs up on everyone', async () => {
    const server = createServer((socket) => socket.destroy()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const endpoint = `http://127.0.0.1:${(server.address() as { port: number }).port}`;
      await expect(bringHeaders('org/model', impatient(hubUser({ endpoint })))).rejects.toMatchObject({
        code: 'HUB_UNAVAILABLE',
        message: expect.stringMatching(
          /the connection to 127\.0\.0\.1:\d+ failed: .* \(tried 4 times\)/,
        ) as string,
      });
    } finally {
      server.close();
    }
  });
});

describe('a model of others is fetched', () => {
  it.each(['gated', 'private'])('with a token that has access, where it is %s', async (access) => {
    const hub = await prepare();
    const user = hubUser(hub, { HF_TOKEN: granted });
    expect((await bringHeaders(`org/${access}`, impatient(user))).id).toBe(`org/${access}`);
  });
});
