import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { LayerloomError, reasonOf } from '../errors.js';
import type { FileIdentity } from './checkpoint.js';

/** Blocks that are read of a file, at equal distances, and their size. */
const samples = 64;
const sampleBytes = 4096;

/**
 * What tells a file's content apart without reading all of it: size, modification time, inode number, header and sampled blocks, as a hash in
 * hexadecimal. Two files of one header that were written in one tick of the file system's clock, and differ only between the samples, are two inodes.
 *
 * @throws LayerloomError READ_FAILED
 */
export const sampleIdentity = async ({ path, bytes, mtimeNs, header }: FileIdentity): Promise<string> => {
  const hash = createHash('sha256');
  try {
    const file = await open(path, 'r');
    try {
      const { ino } = await file.stat({ bigint: true });
      hash.update(`sampled ${bytes} ${mtimeNs} ${ino} ${header}\n`);
      const block = Buffer.alloc(sampleBytes);
      for (let sample = 0; sample < samples; sample += 1) {
        const position = Math.floor((Math.max(0, bytes - sampleBytes) * sample) / (samples - 1));
        const { bytesRead } = await file.read(block, 0, sampleBytes, position);
        hash.update(block.subarray(0, bytesRead));
      }
    } finally {
      await file.close();
    }
  } catch (cause) {
    throw new LayerloomError('READ_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
  }
  return hash.digest('hex');
};

/** The SHA-256 of all of a file, in hexadecimal. @throws LayerloomError READ_FAILED */
export const fullIdentity = async ({ path }: FileIdentity): Promise<string> => {
  const hash = createHash('sha256');
  try {
    await pipeline(createReadStream(path, { highWaterMark: 1024 * 1024 }), hash);
  } catch (cause) {
    throw new LayerloomError('READ_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
  }
  return hash.digest('hex');
};
