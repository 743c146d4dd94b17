import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { bringHeaders } from '../../src/core/models/sources/hub/bring-headers.js';
import { bringRanges } from '../../src/core/models/sources/hub/bring-ranges.js';
import { alteredBy, bodyRange } from '../../src/core/models/sources/hub/requests/plain-body.js';
import { missingRanges } from '../../src/core/models/sources/ranges/folder/folder.js';
import { llama, temporaryDirectory, writeCheckpoint, writeLarge } from '../fixtures/checkpoints.js';
import { hubUser, impatient } from '../fixtures/hub-client.js';
import { type FileAnswer, startHub } from '../fixtures/hub-server.js';

const prepare = async () => {
  const hub = await startHub();
  const source = writeLarge(join(temporaryDirectory(), 'large'), 1, 1, 3);
  hub.addDirectory('org/large', source);
  const env = hubUser(hub, { HF_HUB_DOWNLOAD_TIMEOUT: '0.5' });
  const { path } = await bringHeaders('org/large', impatient(env));
  const file = join(path, 'model.safetensors');
  const content = readFileSync(join(source, 'model.safetensors'));
  const ranges = [{ begin: 100_000, end: content.length - 200_000 }];
  return {
    hub,
    env,
    file,
    content,
    ranges,
    fetch: () => bringRanges([{ path: file, ranges }], impatient(env)),
  };
};

type Alter = (answer: FileAnswer) => Partial<FileAnswer>;

const without = (headers: FileAnswer['headers'], ...names: string[]): FileAnswer['headers'] =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name)));

/** The same headers for a body of another length, plus headers of an encoding. */
const encoded =
  (more: Record<string, string>, encode: (body: Buffer) => Buffer = (body) => body): Alter =>
  ({ headers, body }) => ({
    headers: { ...without(headers, 'content-length'), ...more },
    body: encode(body),
  });

const withRange =
  (range: (begin: number, last: number) => string, body = (own: Buffer): Buffer => own): Alter =>
  (answer) => {
    const [, begin, last] = /^bytes (\d+)-(\d+)/.exec(String(answer.headers['content-range'])) ?? [];
    const headers = without(answer.headers, 'content-length');
    return {
      headers: { ...headers, 'content-range': range(Number(begin), Number(last)) },
      body: body(answer.body),
    };
  };

const multipart = (body: Buffer): Buffer =>
  Buffer.concat([Buffer.from('--b\r\ncontent-range: bytes 1-2/3\r\n\r\n'), body, Buffer.from('\r\n--b--')]);

const as = 'and not as the bytes that it is; use a server, and a proxy, that send files as they are';

const refused: Record<string, readonly [Alter, string]> = {
  gzip: [encoded({ 'content-encoding': 'gzip' }, gzipSync), `content-encoding: gzip, ${as}`],
  'gzip of the same length': [
    ({ headers, body }) => ({
      headers: { ...headers, 'content-encoding': 'gzip' },
      body: Buffer.concat([gzipSync(body), body]).subarray(0, body.length),
    }),
    as,
  ],
  deflate: [encoded({ 'content-encoding': 'deflate' }, deflateSync), 'content-encoding: deflate'],
  brotli: [encoded({ 'content-encoding': 'br' }), 'content-encoding: br'],
  'an encoding that nobody knows': [encoded({ 'content-encoding': 'x-own' }), 'content-encoding: x-own'],
  'two encodings': [encoded({ 'content-encoding': 'identity, GZIP' }, gzipSync), 'identity, GZIP'],
  'a transfer coding': [
    encoded({ 'transfer-encoding': 'gzip, chunked' }, gzipSync),
    'transfer-encoding: gzip',
  ],
  'several ranges in parts': [
    encoded({ 'content-type': 'multipart/byteranges; boundary=b' }, multipart),
    'content-type: multipart/byteranges',
  ],
  'the warning that it was transformed': [
    encoded({ warning: '214 proxy "Transformation Applied"' }),
    'warning: 214',
  ],
  'another begin': [withRange((begin, last) => `bytes ${begin + 1}-${last}/*`), 'bytes 100001-'],
  'an end behind the one asked for': [
    withRange(
      (begin, last) => `bytes ${begin}-${last + 1}/*`,
      (body) => Buffer.concat([body, Buffer.from('x')]),
    ),
    'where bytes 100000-',
  ],
  'an end before its begin': [withRange((begin) => `bytes ${begin}-${begin - 1}/*`), 'where bytes 100000-'],
  'a range of no bytes but pages': [withRange(() => 'pages 1-2/3'), 'content-range: pages 1-2/3'],
  'no range': [
    ({ headers }) => ({ headers: without(headers, 'content-range') }),
    'answers 206, content-length: ',
  ],
  'two ranges': [withRange((begin, last) => `bytes ${begin}-${last}/*, bytes 0-1/*`), 'bytes 0-1/*'],
  'another length than its range has': [
    ({ headers, body }) => ({
      headers: { ...headers, 'content-length': body.length - 1 },
      body: body.subarray(1),
    }),
    'content-length: ',
  ],
  'a range, called the whole file': [() => ({ status: 200 }), 'answers 200, content-range: bytes 100000-'],
};

describe('a range of weights that comes with', () => {
  it.each(Object.entries(refused))(
    '%s is refused, and nothing of it is kept',
    async (_, [alter, message]) => {
      const { hub, file, content, ranges, fetch } = await prepare();
      hub.faults.push({ kind: 'alter', alter, times: 1000, on: /large\/model\.safetensors$/ });
      await expect(fetch()).rejects.toMatchObject({
        code: 'HUB_UNAVAILABLE',
        message: expect.stringContaining(message) as string,
      });
      expect(await missingRanges(file, ranges)).toEqual(ranges);
      hub.faults.length = 0;
      await fetch();
      for (const { begin, end } of ranges)
        expect(readFileSync(file).subarray(begin, end).equals(content.subarray(begin, end))).toBe(true);
    },
  );

  it('another length of the whole file is of another file', async () => {
    const { hub, fetch } = await prepare();
    const alter = withRange((begin, last) => `bytes ${begin}-${last}/123`);
    hub.faults.push({ kind: 'alter', alter, on: /large\/model\.safetensors$/ });
    await expect(fetch()).rejects.toMatchObject({
      code: 'HUB_FILE_CHANGED',
      message: expect.stringContaining('has 123 bytes on the server') as string,
    });
  });

  const taken: Record<string, Alter> = {
    'the encoding that is none': encoded({ 'content-encoding': 'identity' }),
    'chunks of no stated length': encoded({}),
    'a part of the range': withRange(
      (begin, last) => `bytes ${begin}-${Math.min(last, begin + 299_999)}/*`,
      (body) => body.subarray(0, 300_000),
    ),
    // A server's mistake, or a smuggled second answer.
    'more bytes than its range has': withRange(
      (begin, last) => `bytes ${begin}-${Math.min(last, begin + 299_999)}/*`,
      (body) => Buffer.concat([body.subarray(0, 300_000), Buffer.alloc(100_000, 7)]),
    ),
  };

  it.each(Object.entries(taken))('%s is taken', async (_, alter) => {
    const { hub, file, content, ranges, fetch } = await prepare();
    hub.faults.push({ kind: 'alter', alter, times: 1000, on: /large\/model\.safetensors$/ });
    await fetch();
    for (const { begin, end } of ranges)
      expect(readFileSync(file).subarray(begin, end).equals(content.subarray(begin, end))).toBe(true);
  });

  it('one byte at a time is given up', async () => {
    const { hub, fetch } = await prepare();
    const alter = withRange(
      (begin) => `bytes ${begin}-${begin}/*`,
      (body) => body.subarray(0, 1),
    );
    hub.faults.push({ kind: 'alter', alter, times: 1_000_000, on: /large\/model\.safetensors$/ });
    await expect(fetch()).rejects.toMatchObject({
      code: 'HUB_UNAVAILABLE',
      message: expect.stringContaining(
        'the server sends less of model.safetensors than is asked for',
      ) as string,
    });
  });
});

describe('a small file that comes encoded', () => {
  it('is refused, although its bytes could be decoded', async () => {
    const hub = await startHub();
    hub.addDirectory('org/small', writeCheckpoint(join(temporaryDirectory(), 'small'), llama()));
    const alter = encoded({ 'content-encoding': 'gzip' }, gzipSync);
    hub.faults.push({ kind: 'alter', alter, times: 1000, on: /config\.json$/ });
    await expect(bringHeaders('org/small', impatient(hubUser(hub)))).rejects.toMatchObject({
      code: 'HUB_UNAVAILABLE',
      message: expect.stringContaining('sends org/small/config.json with content-encoding: gzip') as string,
    });
  });
});

describe('the headers of an answer', () => {
  it.each<[Record<string, string>, string | undefined]>([
    [{}, undefined],
    [{ 'content-encoding': '' }, undefined],
    [{ 'content-encoding': 'Identity' }, undefined],
    [{ 'transfer-encoding': 'chunked', 'content-type': 'application/octet-stream' }, undefined],
    [{ warning: '110 cache "Response is 214 s stale"' }, undefined],
    [{ 'content-encoding': 'aws-chunked' }, 'content-encoding: aws-chunked'],
    [{ 'content-type': ' Multipart/Mixed' }, 'content-type:  Multipart/Mixed'],
    [{ warning: '110 - "stale", 214 - "x"' }, 'warning: 110 - "stale", 214 - "x"'],
  ])('%j say how the body was altered: %j', (headers, altered) => {
    expect(alteredBy(headers)).toBe(altered);
  });

  it.each<[Record<string, string>, ReturnType<typeof bodyRange>]>([
    [{ 'content-range': 'bytes 5-9/20' }, { begin: 5, end: 10, total: 20 }],
    [
      { 'content-range': 'bytes 5-9/*', 'content-length': '5' },
      { begin: 5, end: 10 },
    ],
    [{ 'content-range': 'bytes 5-9/20', 'content-length': '6' }, undefined],
    [{ 'content-range': 'bytes 5-9/20', 'content-length': 'x' }, undefined],
    [{ 'content-range': 'bytes -5-9/20' }, undefined],
    [{ 'content-range': 'bytes 0-99999999999999999999/20' }, undefined],
    [{ 'content-range': 'bytes */20' }, undefined],
    [{}, undefined],
  ])('%j give the range %j', (headers, range) => {
    expect(bodyRange(headers)).toEqual(range);
  });
});
