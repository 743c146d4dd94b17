import { constants } from 'node:fs';
import { join } from 'node:path';
import { reading } from '../base/files/writing.js';
import { hashOpenFile } from '../engine/output/checksums.js';
import { withFile } from '../engine/output/durable.js';
import type { Run } from '../engine/run.js';
import type { WorkerPool } from '../engine/threads/pool.js';

/**
 * Hashes files of a folder on worker threads, unless `known`.
 *
 * @returns hashes by name, in the order of `names`
 * @throws READ_FAILED, INTERRUPTED
 */
export const hashFiles = async (
  directory: string,
  names: readonly string[],
  run: Run,
  known: ReadonlyMap<string, string> = new Map(),
): Promise<ReadonlyMap<string, string>> => {
  const hashes = new Map([...known].filter(([name]) => names.includes(name)));
  const unread = names.filter((name) => !hashes.has(name));
  await run.pool.eachInLanes(unread, async (name) => {
    const sha256 = await hashFile(join(directory, name), run.pool);
    if (sha256 !== undefined) hashes.set(name, sha256);
    run.report({ phase: 'checksums', done: hashes.size, total: names.length });
  });
  run.pool.throwIfStopped();
  return new Map(names.flatMap((name) => (hashes.has(name) ? [[name, hashes.get(name) ?? '']] : [])));
};

/**
 * Hashes a file on a worker thread.
 *
 * @returns undefined if the pool was stopped
 * @throws READ_FAILED, also for anything but a file
 */
export const hashFile = (path: string, pool: WorkerPool): Promise<string | undefined> =>
  // Does not wait for the writer of a pipe.
  reading(path, () =>
    withFile(path, constants.O_RDONLY | constants.O_NONBLOCK, async (handle) => {
      if (!(await handle.stat()).isFile()) throw new Error('it is not a file');
      return await hashOpenFile(pool, path, handle.fd);
    }),
  );
