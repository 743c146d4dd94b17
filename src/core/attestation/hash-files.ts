import { constants } from 'node:fs';
import { join } from 'node:path';
import { reading } from '../base/files/writing.js';
import { hashOpenFile } from '../engine/output/checksums.js';
import { withFile } from '../engine/output/durable.js';
import type { Run } from '../engine/run.js';

/**
 * Hashes files of a folder on worker threads.
 *
 * @param known hashes of files that were read already
 * @returns hashes by name, in the order of `names`
 * @throws LayerloomError READ_FAILED, INTERRUPTED
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
    const path = join(directory, name);
    // O_NONBLOCK: never wait on a pipe.
    const sha256 = await reading(path, () =>
      withFile(path, constants.O_RDONLY | constants.O_NONBLOCK, async (handle) => {
        if (!(await handle.stat()).isFile()) throw new Error('it is not a file');
        return await hashOpenFile(run.pool, path, handle.fd);
      }),
    );
    if (sha256 !== undefined) hashes.set(name, sha256);
    run.report({ phase: 'checksums', done: hashes.size, total: names.length });
  });
  run.pool.throwIfStopped();
  return new Map(names.flatMap((name) => (hashes.has(name) ? [[name, hashes.get(name) ?? '']] : [])));
};
