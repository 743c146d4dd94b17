import { lstat, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isObject } from '../checkpoint/json.js';
import { writeDurably } from '../engine/output/durable.js';

/** The record of the files that an analysis wrote into its directory. It is written last. */
const recordName = '.layerloom-analysis.json';

/**
 * Removes the files that an earlier analysis wrote into the directory and this one does not, as its record
 * lists them. Files written since, and all others, stay: they are the user's.
 */
export const removeFormerAnalysis = async (
  directory: string,
  written: ReadonlyMap<string, unknown>,
): Promise<void> => {
  const record = join(directory, recordName);
  const recorded = await lstat(record).catch(() => undefined);
  if (recorded === undefined) return;
  for (const name of await filesIn(record)) {
    if (written.has(name)) continue;
    const file = join(directory, name);
    const found = await lstat(file).catch(() => undefined);
    if (found?.isFile() === true && found.mtimeMs <= recorded.mtimeMs) await rm(file, { force: true });
  }
};

/** Returns the names in a record; none if it is not one. A name that leads elsewhere is left out. */
const filesIn = async (record: string): Promise<string[]> => {
  const text = await readFile(record, 'utf8');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // A damaged record lists nothing, so that nothing is removed.
    return [];
  }
  const files = isObject(value) ? value['files'] : undefined;
  if (!Array.isArray(files)) return [];
  return files.filter((name): name is string => typeof name === 'string' && name === basename(name));
};

/** Records the names of the files of an analysis. */
export const recordAnalysis = (
  directory: string,
  files: readonly string[],
  layerloom: string,
): Promise<void> =>
  writeDurably(join(directory, recordName), `${JSON.stringify({ layerloom, files }, null, 2)}\n`);
