import { lstat, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isObject } from '../../../core/models/checkpoint/json.js';
import { jsonOrNone } from '../../../core/texts/json.js';

/** The page of an analysis, which is written last and ends with the names of its files. */
export const pageName = 'index.html';

const record = /<!-- layerloom analysis (?<json>\{[^<>]*\}) -->\s*$/;

/** Returns the comment that records the names of an analysis's files at the end of its page. */
export const recordOf = (files: readonly string[]): string =>
  `<!-- layerloom analysis ${JSON.stringify({ files }).replace(/[<>]/g, (sign) => (sign === '<' ? '\\u003c' : '\\u003e'))} -->\n`;

/**
 * Removes the files that an earlier analysis wrote into the directory and this one does not, as its page
 * records them. Files written since, and all others, stay: they are the user's.
 */
export const removeFormerAnalysis = async (
  directory: string,
  written: ReadonlyMap<string, unknown>,
): Promise<void> => {
  const page = join(directory, pageName);
  const recorded = await lstat(page).catch(() => undefined);
  if (recorded?.isFile() !== true) return;
  for (const name of filesIn(await readFile(page, 'utf8'))) {
    if (written.has(name)) continue;
    const file = join(directory, name);
    const found = await lstat(file).catch(() => undefined);
    if (found?.isFile() === true && found.mtimeMs <= recorded.mtimeMs) await rm(file, { force: true });
  }
};

/** Returns the names that a page records; none if it is another's. A name that leads elsewhere is left out. */
const filesIn = (page: string): string[] => {
  const json = record.exec(page)?.groups?.['json'];
  if (json === undefined) return [];
  // A damaged record lists nothing, so that nothing is removed.
  const value = jsonOrNone(json);
  const files = isObject(value) ? value['files'] : undefined;
  if (!Array.isArray(files)) return [];
  return files.filter((name): name is string => typeof name === 'string' && name === basename(name));
};
