import { lstat, readdir, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** A partial file of this age counts as abandoned; writing one takes only seconds. */
const abandonedMs = 120_000;

/** Removes partial files of this user's killed processes. Ignores failures. */
export const removeAbandoned = async (
  path: string,
  { begin = `${basename(path)}.`, end, ageMs = abandonedMs }: { begin?: string; end: RegExp; ageMs?: number },
): Promise<void> => {
  for (const name of await readdir(dirname(path)).catch((): string[] => [])) {
    if (!name.startsWith(begin) || !end.test(name.slice(begin.length))) continue;
    const partial = join(dirname(path), name);
    const found = await lstat(partial).catch(() => undefined);
    if (found === undefined || found.isDirectory() || found.uid !== process.getuid?.()) continue;
    // Compares ctime, because adding a hard link to an old file changes nothing else.
    if (Date.now() - found.ctimeMs >= ageMs) await rm(partial, { force: true }).catch(() => undefined);
  }
};
