import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { bringRanges } from '../../src/core/models/sources/hub/bring-ranges.js';
import { hubEnvironment } from '../../src/core/models/sources/hub/environment.js';
import { proxyFor } from '../../src/core/models/sources/hub/requests/session/proxy.js';
import { assemble, llama, temporaryDirectory, writeCheckpoint } from '../fixtures/checkpoints.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { fileOnDisk, startHub } from '../fixtures/hub-server.js';

describe('the hub of a user', () => {
  it('is huggingface.co, with the token of hf auth login, unless variables say otherwise', async () => {
    const home = temporaryDirectory();
    const env = { HF_HOME: home };
    expect(await hubEnvironment(env)).toMatchObject({
      endpoint: 'https://huggingface.co',
      token: undefined,
      offline: undefined,
      cache: join(home, 'hub'),
      ranges: join(home, 'layerloom'),
    });
    writeFileSync(join(home, 'token'), ' hf_file\n');
    expect(await hubEnvironment(env)).toMatchObject({ token: 'hf_file', tokenFrom: join(home, 'token') });
    expect(await hubEnvironment({ ...env, HUGGING_FACE_HUB_TOKEN: 'hf_old' })).toMatchObject({
      token: 'hf_old',
    });
    const both = { ...env, HUGGING_FACE_HUB_TOKEN: 'hf_old', HF_TOKEN: 'hf_new' };
    expect(await hubEnvironment(both)).toMatchObject({ token: 'hf_new', tokenFrom: 'HF_TOKEN' });
    expect((await hubEnvironment({ ...both, HF_HUB_DISABLE_IMPLICIT_TOKEN: 'yes' })).token).toBeUndefined();
    expect(
      await hubEnvironment({ HF_HOME: home, HF_ENDPOINT: 'https://mirror/', LAYERLOOM_CACHE: '/r' }),
    ).toMatchObject({
      endpoint: 'https://mirror',
      ranges: '/r',
    });
    expect((await hubEnvironment({ HF_HOME: home, TRANSFORMERS_OFFLINE: 'TRUE' })).offline).toBe(
      'TRANSFORMERS_OFFLINE',
    );
  });

  it('is asked through a proxy, except where NO_PROXY says so', () => {
    const env = {
      HTTPS_PROXY: 'proxy:3128',
      http_proxy: 'http://other:1',
      NO_PROXY: 'localhost, .inner.org,10.0.0.1:8080',
    };
    const proxy = (url: string) => proxyFor(new URL(url), env);
    expect(proxy('https://huggingface.co/x')).toBe('http://proxy:3128');
    expect(proxy('http://huggingface.co/x')).toBe('http://other:1');
    expect(proxy('https://localhost:9/x')).toBeUndefined();
    expect(proxy('https://hub.inner.org/x')).toBeUndefined();
    expect(proxy('http://10.0.0.1:8080/x')).toBeUndefined();
    expect(proxy('http://10.0.0.1/x')).toBe('http://other:1');
    expect(proxyFor(new URL('https://a.b'), { HTTPS_PROXY: 'p:1', no_proxy: '*' })).toBeUndefined();
  });

  it('is reached by a tunnel of the proxy', async () => {
    const hub = await startHub();
    hub.addDirectory('org/model', writeCheckpoint(join(temporaryDirectory(), 'model'), llama()));
    const tunnels: string[] = [];
    const proxy = createServer().listen(0, '127.0.0.1');
    proxy.on('connect', ({ url = '' }, socket) => {
      tunnels.push(url);
      const [host = '', port] = url.split(':');
      const upstream = connect(Number(port), host, () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      for (const end of [socket, upstream]) end.on('error', () => upstream.destroy());
    });
    await once(proxy, 'listening');
    onTestFinished(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    const http_proxy = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    await bringHeaders('org/model', impatient(hubUser(hub, { http_proxy })));
    expect(new Set(tunnels)).toEqual(
      new Set([hub.endpoint, hub.cdn].map((url) => url.replace('http://', ''))),
    );
  });
});

describe('HF_HUB_OFFLINE', () => {
  it('leaves what the caches have, headers or a whole model', async () => {
    const hub = await startHub();
    const source = writeCheckpoint(join(temporaryDirectory(), 'model'), llama());
    hub.addDirectory('org/model', source);
    const env = hubUser(hub);
    const offline = { ...env, HF_HUB_OFFLINE: '1' };
    const online = await bringHeaders('org/model', impatient(env));
    const asked = hub.requests.length;
    expect(await bringHeaders('org/model', impatient(offline))).toEqual(online);
    const file = join(online.path, 'model.safetensors');
    await bringRanges([{ path: file, ranges: [{ begin: 0, end: 8 }] }], impatient(offline));
    expect(hub.requests.length).toBe(asked);
    await bringRanges(
      [{ path: file, ranges: [{ begin: 0, end: readFileSync(join(source, 'model.safetensors')).length }] }],
      impatient(env),
    );
    expect((await bringHeaders('org/model', impatient(offline))).path).toBe(
      join(env['HF_HOME'] ?? '', 'hub', 'models--org--model', 'snapshots', online.revision),
    );
  });
});

describe('a disk', () => {
  it('that is too small is refused before anything is fetched', async () => {
    const root = temporaryDirectory();
    const { bavail, bsize } = statfsSync(root);
    const bytes = bavail * bsize + 2 ** 30;
    const path = join(root, 'model.safetensors');
    const header = { a: { dtype: 'U8', shape: [bytes], data_offsets: [0, bytes] } };
    const start = assemble(JSON.stringify(header));
    writeFileSync(path, start);
    truncateSync(path, start.length + bytes);
    const hub = await startHub();
    hub.addModel('org/huge', [fileOnDisk('model.safetensors', path)]);
    const options = impatient(hubUser(hub));
    const model = await bringHeaders('org/huge', options);
    const ranges = [{ begin: 0, end: bytes }];
    await expect(
      bringRanges([{ path: join(model.path, 'model.safetensors'), ranges }], options),
    ).rejects.toMatchObject({ code: 'DISK_SPACE' });
    expect(hub.weightBytes).toBe(65_536);
  });

  it('that cannot be written is said so, by the file', async () => {
    const hub = await startHub();
    hub.addDirectory('org/model', writeCheckpoint(join(temporaryDirectory(), 'model'), llama()));
    const env = hubUser(hub);
    // Even root cannot make a directory in a file.
    const home = env['HF_HOME'] ?? '';
    mkdirSync(home);
    rmSync(join(home, 'layerloom'), { force: true });
    writeFileSync(join(home, 'layerloom'), '');
    await expect(bringHeaders('org/model', impatient(env))).rejects.toMatchObject({
      code: 'WRITE_FAILED',
      details: { file: join(home, 'layerloom', '.lock') },
    });
  });

  it('that cannot be written for the name of a revision is said so, unless the model is whole', async () => {
    const hub = await startHub();
    const source = writeCheckpoint(join(temporaryDirectory(), 'model'), llama());
    hub.addDirectory('org/model', source);
    const env = hubUser(hub);
    const { path, revision } = await bringHeaders('org/model', impatient(env));
    const repository = join(env['HF_HOME'] ?? '', 'hub', 'models--org--model');
    const refs = join(repository, 'refs');
    rmSync(refs, { recursive: true });
    // Even root cannot make a file in a file.
    writeFileSync(refs, '');
    const again = () => bringHeaders('org/model', impatient(env));
    await expect(again()).rejects.toMatchObject({
      code: 'WRITE_FAILED',
      details: { file: join(refs, 'main') },
    });
    const name = 'model.safetensors';
    const ranges = [{ begin: 0, end: readFileSync(join(source, name)).length }];
    await bringRanges([{ path: join(path, name), ranges }], impatient(env));
    rmSync(path, { recursive: true });
    expect((await again()).path).toBe(join(repository, 'snapshots', revision));
  });
});
