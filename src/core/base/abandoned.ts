import { lstat, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** Age of a partial file after which its writer was killed: a file takes seconds. */
const abandonedMs = 120_000;

/**
 * Removes partial files of a path that this user's killed writers left beside it, as far as it can.
 *
 * @param path of the file that was written
 * @param begin of the names of its partial files
 * @param end of these names
 * @param ageMs since the last change of a partial file
 */
export const removeAbandoned = async (
  path: string,
  { begin = `${basename(path)}.`, end, ageMs = abandonedMs }: { begin?: string; end: RegExp; ageMs?: number },
): Promise<void> => {
  for (const name of await readdir(dirname(path)).catch((): string[] => [])) {
    if (!name.startsWith(begin) || !end.test(name.slice(begin.length))) continue;
    const partial = join(dirname(path), name);
    const found = await lstat(partial).catch(() => undefined);
    if (found === undefined || found.isDirectory() || found.uid !== process.getuid?.()) continue;
    // A second name of an old file is as new as its last change of names.
    if (Date.now() - found.ctimeMs >= ageMs) await rm(partial, { force: true }).catch(() => undefined);
  }
};
