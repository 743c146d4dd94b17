import { createHash } from 'node:crypto';
import { closeSync, ftruncateSync, openSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { byNode, digestFile } from '../../src/core/engine/threads/digest-file.js';
import { WorkerPool } from '../../src/core/engine/threads/pool.js';
import { findAddon, hash as hashParts } from '../../src/core/native/addon.js';
import { type HashedRange, stateWords } from '../../src/core/native/hash.js';
import { control } from '../../src/core/native/job.js';
import { temporaryDirectory } from '../fixtures/checkpoints.js';

const words = () => new BigInt64Array(new SharedArrayBuffer(control.words * 8));

/** A pattern whose length is no power of two, so that neighbouring blocks differ. */
const pattern = Buffer.from(Array.from({ length: 1009 }, (_, index) => (index * index + (index >> 3)) & 255));

const bytesOf = (length: number, seed: number): Buffer => Buffer.alloc(length, pattern.subarray(seed % 251));

const fileOf = (directory: string, content: Uint8Array): number => {
  const path = join(directory, `${content.length}`);
  writeFileSync(path, content);
  const fd = openSync(path, 'r+');
  onTestFinished(() => closeSync(fd));
  return fd;
};

const hexOf = (state: Uint32Array): string =>
  Array.from(state, (word) => word.toString(16).padStart(8, '0')).join('');

const expected = (content: Uint8Array): string => createHash('sha256').update(content).digest('hex');

/** True if the processor has SHA-256 instructions. */
const isThere = 'hash' in createRequire(import.meta.url)(findAddon().file);

describe.skipIf(!isThere)('SHA-256 by the processor is that of node:crypto', () => {
  const largest = 300;
  const contents = Array.from({ length: largest + 1 }, (_, length) => bytesOf(length, length));

  it('of every length up to 300, alone and with another', () => {
    const directory = temporaryDirectory();
    const whole = contents.map(
      (content): HashedRange => ({
        ...{ fd: fileOf(directory, content), start: 0, begin: 0 },
        ...{ length: content.length, last: true },
      }),
    );
    for (const [length, content] of contents.entries()) {
      const other = largest - length;
      const ranges = [whole[length], whole[other]].flatMap((range) => range ?? []);
      const states = new Uint32Array(2 * stateWords);
      expect(hashParts(ranges.slice(0, 1), states.subarray(0, stateWords), words())?.outcome).toBe('done');
      expect(hexOf(states.subarray(0, stateWords))).toBe(expected(content));
      expect(hashParts(ranges, states, words())?.outcome).toBe('done');
      expect(hexOf(states.subarray(0, stateWords))).toBe(expected(content));
      expect(hexOf(states.subarray(stateWords))).toBe(expected(contents[other] ?? Buffer.of()));
    }
  });

  it('of large files, in any parts', () => {
    const directory = temporaryDirectory();
    // Each file has more than one window, and not a whole number of blocks.
    const files = [9 * 2 ** 20 + 17, 5 * 2 ** 20 + 63].map((length) => {
      const content = bytesOf(length, length);
      return { content, fd: fileOf(directory, content) };
    });
    const states = new Uint32Array(2 * stateWords);
    let random = 1;
    const at = [0, 0];
    while (files.some(({ content }, index) => (at[index] ?? 0) < content.length)) {
      const some = [0, 1].filter((index) => (at[index] ?? 0) < (files[index]?.content.length ?? 0));
      const ranges = some.map((index): HashedRange => {
        random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
        const begin = at[index] ?? 0;
        const left = (files[index]?.content.length ?? 0) - begin;
        const length = Math.min(left, (random >>> 10) & ~63);
        return { fd: files[index]?.fd ?? -1, start: 0, begin, length, last: length === left };
      });
      const partial = Uint32Array.from(
        some.flatMap((index) => [...states.subarray(8 * index, 8 * index + 8)]),
      );
      expect(hashParts(ranges, partial, words())?.outcome).toBe('done');
      for (const [place, index] of some.entries()) {
        states.set(partial.subarray(8 * place, 8 * place + 8), 8 * index);
        at[index] = (ranges[place]?.begin ?? 0) + (ranges[place]?.length ?? 0);
      }
    }
    for (const [index, { content }] of files.entries())
      expect(hexOf(states.subarray(8 * index, 8 * index + 8))).toBe(expected(content));
  });

  it('and says so of a file that ends before its part does', () => {
    const fd = fileOf(temporaryDirectory(), bytesOf(4096, 1));
    ftruncateSync(fd, 64);
    const range = { fd, start: 0, begin: 0, length: 4096, last: true };
    expect(hashParts([range], new Uint32Array(stateWords), words())?.outcome).toBe('inputShrank');
  });
});

describe('a pool hashes a file and ranges of it', () => {
  const content = bytesOf(33 * 2 ** 20 + 77, 5);
  const cuts = [0, 0, 1, 9, 72, 136, 136, 200, 5000, 17 * 2 ** 20 + 3, 33 * 2 ** 20 + 70];
  const ranges = cuts.map((begin, index) => ({ begin, end: cuts[index + 1] ?? content.length }));
  const some = [
    { begin: 700, end: 701 },
    ...ranges.slice(8, 10).map(({ begin, end }) => ({ begin: begin + 64, end })),
  ];

  it.each([
    ['every byte of it', ranges],
    ['ranges with gaps', some],
    ['no range', []],
  ])('%s, by the processor and by node:crypto', (_, wanted) => {
    const fd = fileOf(temporaryDirectory(), content);
    const file = { fd, bytes: content.length, ranges: wanted };
    const digests = {
      sha256: expected(content),
      ranges: wanted.map(({ begin, end }) => expected(content.subarray(begin, end))),
    };
    expect(digestFile(file, words())).toEqual({ ok: true, digests });
    expect(byNode(file, () => false)).toEqual(digests);
  });

  it('and says so of a file that ends before', () => {
    const fd = fileOf(temporaryDirectory(), bytesOf(4096, 1));
    const found = digestFile({ fd, bytes: 5000, ranges: [{ begin: 10, end: 4500 }] }, words());
    expect(found).toEqual({ ok: false, reason: 'it became shorter while it was read' });
  });
});

describe('a pool hashes files', () => {
  it.each([1, 3])('on %i threads, more of them than threads, and of every size', async (threads) => {
    await using pool = new WorkerPool(threads, new AbortController().signal);
    const directory = temporaryDirectory();
    const contents = [0, 1, 2 ** 20, 17 * 2 ** 20 + 5, 100, 16 * 2 ** 20].map((length) =>
      Buffer.alloc(length, length % 251),
    );
    const hashes = await Promise.all(contents.map((content) => pool.checksum(fileOf(directory, content))));
    expect(hashes).toEqual(contents.map((content) => ({ ok: true, sha256: expected(content) })));
    // Whatever else threads have to do.
    const busy = pool.inLanes(async () => {
      for (let task = 0; task < 20; task += 1) await pool.run([]);
    });
    const beside = Promise.all(contents.map((content) => pool.checksum(fileOf(directory, content))));
    await busy;
    expect(await beside).toEqual(hashes);
  });

  it('and says why it cannot', async () => {
    await using pool = new WorkerPool(1, new AbortController().signal);
    const fd = openSync(temporaryDirectory(), 'r');
    onTestFinished(() => closeSync(fd));
    expect(await pool.checksum(fd)).toMatchObject({ ok: false, reason: 'it is a directory, not a file' });
  });
});
