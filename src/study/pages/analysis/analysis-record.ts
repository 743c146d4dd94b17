import { lstat, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isObject } from '../../../core/models/checkpoint/files/json.js';
import { jsonOrNone } from '../../../core/texts/json.js';

/** Page, written last. It lists the analysis's files at its end. */
export const pageName = 'index.html';

const record = /<!-- layerloom analysis (?<json>\{[^<>]*\}) -->\s*$/;

export const recordOf = (files: readonly string[]): string =>
  `<!-- layerloom analysis ${JSON.stringify({ files }).replace(/[<>]/g, (sign) => (sign === '<' ? '\\u003c' : '\\u003e'))} -->\n`;

/**
 * Removes files of an earlier analysis, listed in its page, that this analysis does not write. Files that changed
 * since belong to the user and stay.
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

/** Returns the files that a page lists; none for another program's page. Skips names in other folders. */
const filesIn = (page: string): string[] => {
  const json = record.exec(page)?.groups?.['json'];
  if (json === undefined) return [];
  // If the list is damaged, removes nothing.
  const value = jsonOrNone(json);
  const files = isObject(value) ? value['files'] : undefined;
  if (!Array.isArray(files)) return [];
  return files.filter((name): name is string => typeof name === 'string' && name === basename(name));
};
