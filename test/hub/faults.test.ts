import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { bringRanges } from '../../src/core/models/sources/hub/bring-ranges.js';
import { missingRanges, rangeRecordPath } from '../../src/core/models/sources/ranges/folder/folder.js';
import { parseRangeRecord } from '../../src/core/models/sources/ranges/folder/record.js';
import { bytesOf } from '../../src/core/tensor/extent.js';
import { temporaryDirectory, writeLarge } from '../fixtures/checkpoints.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import {
  type Fault,
  fileOf,
  type HubServer,
  type HubServerOptions,
  startHub,
} from '../fixtures/hub-server.js';

const token = 'hf_secret';

const prepare = async (mebibytes: number, options: HubServerOptions = {}) => {
  const hub = await startHub({ tokens: [token], ...options });
  const source = writeLarge(join(temporaryDirectory(), 'large'), 1, mebibytes, 3);
  hub.addDirectory('org/large', source);
  const env = hubUser(hub, { HF_TOKEN: token, HF_HUB_DOWNLOAD_TIMEOUT: '0.5' });
  const { path } = await bringHeaders('org/large', impatient(env));
  return {
    hub,
    env,
    file: join(path, 'model.safetensors'),
    content: readFileSync(join(source, 'model.safetensors')),
  };
};

type Prepared = Awaited<ReturnType<typeof prepare>>;

/** Fetches all except a large part of the file, so that it stays sparse. */
const begin = 100_000;
const fetchMost = async ({ env, file, content }: Prepared): Promise<number> => {
  const end = content.length - 200_000;
  await bringRanges([{ path: file, ranges: [{ begin, end }] }], impatient(env));
  expect(readFileSync(file).subarray(begin, end).equals(content.subarray(begin, end))).toBe(true);
  return end - begin;
};

const cdn = /large\/model\.safetensors$/;
const resolve = /resolve/;

const sentSince = (hub: HubServer, before: number): number => hub.weightBytes - before;

describe('a download', () => {
  it('survives 200 cut connections, and fetches few bytes twice', async () => {
    const prepared = await prepare(24);
    const { hub } = prepared;
    const before = hub.weightBytes;
    hub.faults.push({ kind: 'cut', after: 110_000, times: 200, on: cdn });
    const needed = await fetchMost(prepared);
    expect(hub.faults[0]?.times).toBe(0);
    expect(sentSince(hub, before)).toBeLessThan(needed * 1.01);
  });

  it.each<[string, Fault]>([
    ['429 with Retry-After', { kind: 'status', status: 429, headers: { 'retry-after': '0' }, times: 2 }],
    ['503 of the hub', { kind: 'status', status: 503, times: 2, on: resolve }],
    ['a server that stalls', { kind: 'stall', after: 50_000, times: 2, on: cdn }],
    ['another range than was asked for', { kind: 'wrong range', times: 2, on: cdn }],
    ['a server that ignores ranges', { kind: 'ignore range', times: 1000, on: cdn }],
  ])('gets over %s', async (_, fault) => {
    const prepared = await prepare(1);
    prepared.hub.faults.push(fault);
    await fetchMost(prepared);
  });

  it('asks for a new address once the signed one has expired, and sends the token to the hub only', async () => {
    const prepared = await prepare(40, { signatureUses: 2 });
    const { hub } = prepared;
    await fetchMost(prepared);
    expect(
      hub.requests.filter(({ host }) => host === 'hub').map(({ authorization }) => authorization),
    ).toContain(`Bearer ${token}`);
    for (const { host, authorization } of hub.requests)
      expect(authorization, host).toBe(host === 'hub' ? `Bearer ${token}` : undefined);
  });

  it.each<[string, RegExp, (hub: HubServer, content: Buffer) => void]>([
    [
      'names another content',
      /ETag .* now has changed/,
      (hub) => hub.faults.push({ kind: 'etag', etag: 'changed', times: 1000, on: resolve }),
    ],
    [
      'serves another content under its address',
      /ETag .* now has changed/,
      (hub) => hub.faults.push({ kind: 'etag', etag: 'changed', times: 1000, on: cdn }),
    ],
    [
      'has a file of another length',
      /has \d+ bytes on the server|ETag/,
      (hub, content) =>
        hub.replaceFile('org/large', fileOf('model.safetensors', content.subarray(0, 500_000))),
    ],
  ])('ends where the hub %s, and keeps nothing of the file', async (_, message, change) => {
    const prepared = await prepare(1);
    const { hub, env, file, content } = prepared;
    await bringRanges([{ path: file, ranges: [{ begin, end: begin + 1000 }] }], impatient(env));
    change(hub, content);
    await expect(fetchMost(prepared)).rejects.toMatchObject({
      code: 'HUB_FILE_CHANGED',
      message: expect.stringMatching(message) as string,
    });
    expect(existsSync(file)).toBe(false);
    hub.faults.length = 0;
    hub.replaceFile('org/large', fileOf('model.safetensors', content));
    await bringHeaders('org/large', impatient(env));
    expect(await missingRanges(file, [{ begin, end: begin + 1000 }])).toEqual([{ begin, end: begin + 1000 }]);
    await fetchMost(prepared);
  });

  it('refuses a whole file whose hash is not the one that the hub gives', async () => {
    const { hub, env, file, content } = await prepare(1);
    const other = Buffer.from(content);
    other.writeUInt8(other.readUInt8(700_000) ^ 1, 700_000);
    const { read } = fileOf('model.safetensors', other);
    hub.replaceFile('org/large', { ...fileOf('model.safetensors', content), read });
    const all = [{ path: file, ranges: [{ begin: 0, end: content.length }] }];
    await expect(bringRanges(all, impatient(env))).rejects.toMatchObject({ code: 'HUB_FILE_CHANGED' });
    expect(existsSync(file)).toBe(false);
  });

  it('continues where it was killed, without what was recorded', async () => {
    const { hub, env, file, content } = await prepare(32);
    const before = hub.weightBytes;
    const end = content.length - 1_000_000;
    // Two of the requests stall, so that the download cannot end.
    hub.faults.push({ kind: 'stall', after: 8_000_000, times: 2, on: cdn });
    const script = fileURLToPath(new URL('../fixtures/hub-process.mjs', import.meta.url));
    const child = spawn(process.execPath, [script, 'ranges', file, String(begin), String(end)], {
      env: { PATH: process.env['PATH'], ...env, HF_HUB_DOWNLOAD_TIMEOUT: '600' },
      stdio: 'inherit',
    });
    const record = rangeRecordPath(join(file, '..'), 'model.safetensors');
    const recorded = (): number => bytesOf(parseRangeRecord(readFileSync(record, 'utf8'))?.present ?? []);
    while (recorded() < 12_000_000) await new Promise((wait) => setTimeout(wait, 20));
    child.kill('SIGKILL');
    await once(child, 'exit');
    const ranges = [{ begin, end }];
    const missing = bytesOf(await missingRanges(file, ranges));
    expect(missing).toBeLessThan(end - begin - 11_000_000);
    const sent = hub.weightBytes;
    await bringRanges([{ path: file, ranges }], impatient(env));
    expect(sentSince(hub, sent)).toBe(missing);
    expect(sentSince(hub, before)).toBeLessThan(content.length * 2);
    expect(readFileSync(file).subarray(begin, end).equals(content.subarray(begin, end))).toBe(true);
  });

  it('is shared by two processes: what one fetches the other does not', async () => {
    const { hub, env, file, content } = await prepare(16);
    const before = hub.weightBytes;
    const ranges = [{ begin, end: content.length - 200_000 }];
    const script = fileURLToPath(new URL('../fixtures/hub-process.mjs', import.meta.url));
    const codes = [0, 1].map(async () => {
      const child = spawn(process.execPath, [script, 'ranges', file, String(begin), String(ranges[0]?.end)], {
        env: { PATH: process.env['PATH'], ...env },
        stdio: 'inherit',
      });
      return ((await once(child, 'exit')) as [number])[0];
    });
    expect(await Promise.all(codes)).toEqual([0, 0]);
    expect(sentSince(hub, before)).toBe(bytesOf(ranges));
    expect(await missingRanges(file, ranges)).toEqual([]);
  });

  it('stops when it is interrupted, and keeps what has come', async () => {
    const prepared = await prepare(24);
    const { hub, env, file, content } = prepared;
    hub.faults.push({ kind: 'stall', after: 9_000_000, on: cdn });
    const abort = new AbortController();
    const onProgress = ({ done }: { done: number }) => {
      if (done > 12_000_000) abort.abort();
    };
    const ranges = [{ begin, end: content.length - 200_000 }];
    const options = impatient(
      { ...env, HF_HUB_DOWNLOAD_TIMEOUT: '600' },
      { signal: abort.signal, onProgress },
    );
    await expect(bringRanges([{ path: file, ranges }], options)).rejects.toMatchObject({
      code: 'INTERRUPTED',
    });
    const missing = bytesOf(await missingRanges(file, ranges));
    expect(missing).toBeLessThan(bytesOf(ranges) - 11_000_000);
    const before = hub.weightBytes;
    await bringRanges([{ path: file, ranges }], impatient(env));
    expect(sentSince(hub, before)).toBe(missing);
  });
});
