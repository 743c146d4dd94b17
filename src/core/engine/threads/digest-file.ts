import { createHash, type Hash } from 'node:crypto';
import { readSync } from 'node:fs';
import { reasonOf } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import * as addon from '../../native/addon.js';
import { hexOf, stateWords } from '../../native/hash.js';
import { control } from '../../native/job.js';
import type { DigestResult, FileDigests, FileToDigest } from './task.js';

const blockBytes = 64;

/** Bytes for some ten milliseconds of work, in whole SHA-256 blocks. */
const partBytes = 16 * 1024 * 1024;

const wholeBlocks = (bytes: number): number => bytes - (bytes % blockBytes);

/** Hashes a file and ranges of it, reading it once. */
export const digestFile = (file: FileToDigest, shared: BigInt64Array): DigestResult => {
  try {
    const isCancelled = () => Atomics.load(shared, control.cancel) !== 0n;
    return { ok: true, digests: byAddon(file, shared) ?? byNode(file, isCancelled) };
  } catch (error) {
    return { ok: false, reason: reasonOf(error) };
  }
};

/** Hashes a range and the whole file together, which takes little longer; undefined if the addon did not. */
const byAddon = ({ fd, bytes, ranges }: FileToDigest, shared: BigInt64Array): FileDigests | undefined => {
  const states = new Uint32Array(2 * stateWords);
  const [ofRange, ofFile] = [states.subarray(0, stateWords), states.subarray(stateWords)];
  const found: string[] = [];
  let hashed = 0;
  try {
    for (const { begin: start, end } of ranges)
      for (let begin = start, last = false; !last; ) {
        const length = Math.min(partBytes, end - begin);
        last = begin + length === end;
        const beside = wholeBlocks(begin + length - hashed);
        const parts = [
          { fd, start, begin, length, last },
          { fd, start: 0, begin: hashed, length: beside, last: false },
        ];
        const isAlone = beside === 0;
        const status = addon.hash(isAlone ? parts.slice(0, 1) : parts, isAlone ? ofRange : states, shared);
        if (status?.outcome !== 'done') return undefined;
        [begin, hashed] = [begin + length, hashed + beside];
        if (last) found.push(hexOf(ofRange));
      }
    const rest = { fd, start: 0, begin: hashed, length: bytes - hashed, last: true };
    if (addon.hash([rest], ofFile, shared)?.outcome !== 'done') return undefined;
    return { sha256: hexOf(ofFile), ranges: found };
  } catch {
    // Attesting does not need the addon, so it may also fail to load.
    return undefined;
  }
};

/** Kept for each thread: V8 would let buffers of many files accumulate. */
let buffer: Buffer | undefined;

/** @returns undefined if cancelled */
export const byNode = (
  { fd, bytes, ranges }: FileToDigest,
  isCancelled: () => boolean,
): FileDigests | undefined => {
  buffer ??= Buffer.allocUnsafeSlow(1024 * 1024);
  const file = createHash('sha256');
  const found: Hash[] = ranges.map(() => createHash('sha256'));
  let first = 0;
  for (let position = 0; position < bytes; ) {
    if (isCancelled()) return undefined;
    const read = readSync(fd, buffer, 0, Math.min(buffer.length, bytes - position), position);
    if (read === 0) throw new Error('it became shorter while it was read');
    file.update(buffer.subarray(0, read));
    while (first < ranges.length && itemAt(ranges, first).end <= position) first += 1;
    for (
      let index = first;
      index < ranges.length && itemAt(ranges, index).begin < position + read;
      index += 1
    ) {
      const { begin, end } = itemAt(ranges, index);
      itemAt(found, index).update(
        buffer.subarray(Math.max(0, begin - position), Math.max(0, Math.min(read, end - position))),
      );
    }
    position += read;
  }
  return { sha256: file.digest('hex'), ranges: found.map((hash) => hash.digest('hex')) };
};
