import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { join } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { statedSha256 } from '../../models/checkpoint/same/identity.js';
import { type MergePlan, verbatimPath } from '../../plan/plan.js';
import type { InputFiles } from '../input-files.js';
import type { WorkerPool } from '../threads/pool.js';
import { withFile } from './durable.js';

export type Checksums = ReadonlyMap<string, string>;

/**
 * Hashes input files through the merge's descriptors and, unless `hasShards` is false, staged shards. Takes the hub's
 * SHA-256 where known, and an input's SHA-256 for a shard that equals that input. Results are incomplete if the pool is
 * stopped.
 *
 * @throws READ_FAILED
 */
export const computeChecksums = async (
  plan: Pick<MergePlan, 'inputs' | 'shards'>,
  directory: string,
  inputs: InputFiles,
  pool: WorkerPool,
  report: (done: number, total: number) => void,
  hasShards: boolean,
): Promise<Checksums> => {
  const checksums = new Map<string, string>();
  const bytesOf = new Map<string, number>();
  for (const file of plan.inputs.flatMap(({ files }) => files)) {
    const stated = statedSha256(file);
    if (stated !== undefined) checksums.set(file.path, stated);
    // Skips files in the cache of ranges: they may be incomplete.
    else if (file.content === undefined) bytesOf.set(file.path, file.bytes);
  }
  const copies = new Map<string, string>();
  for (const shard of hasShards ? plan.shards : []) {
    const path = join(directory, shard.file);
    const input = verbatimPath(shard, plan.inputs);
    if (input !== undefined && (checksums.has(input) || bytesOf.has(input))) copies.set(path, input);
    else bytesOf.set(path, shard.bytes);
  }
  // Largest first, so that no thread is left with a large file.
  const files = [...bytesOf].sort(([, a], [, b]) => b - a);
  let hashed = 0;
  const hash = async (path: string, fd: number): Promise<void> => {
    const sha256 = await hashOpenFile(pool, path, fd);
    if (sha256 !== undefined) checksums.set(path, sha256);
  };
  await pool.eachInLanes(files, async ([path]) => {
    const fd = inputs.fdOfPath(path);
    await (fd === undefined ? withFile(path, 'r', (file) => hash(path, file.fd)) : hash(path, fd));
    hashed += 1;
    report(hashed, bytesOf.size);
  });
  for (const [path, input] of copies) {
    const sha256 = checksums.get(input);
    if (sha256 !== undefined) checksums.set(path, sha256);
  }
  return checksums;
};

/** Hashes a file on the calling thread. */
export const hashHere = async (path: string): Promise<string> => {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 }))
    hash.update(chunk as Buffer);
  return hash.digest('hex');
};

/**
 * @returns undefined if the pool was stopped
 * @throws READ_FAILED
 */
export const hashOpenFile = async (
  pool: WorkerPool,
  path: string,
  fd: number,
): Promise<string | undefined> => {
  const result = await pool.checksum(fd);
  if (!result.ok) throw new LayerloomError('READ_FAILED', { file: path, reason: result.reason });
  return result.sha256;
};
