import { mkdir, readdir, realpath, writeFile } from 'node:fs/promises';
import { codeOf, LayerloomError, reasonOf } from '../../../core/base/errors/errors.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { orNearPath } from '../../../core/base/files/near-path.js';
import { linkBelow } from '../../../core/base/files/own-directory.js';
import { version } from '../../../core/base/files/version.js';
import { writing } from '../../../core/base/files/writing.js';
import { makeDirectories, replaceFile, syncDirectory } from '../../../core/engine/output/durable.js';
import { isObject } from '../../../core/models/checkpoint/files/json.js';
import { readSmallFile } from '../../../core/models/checkpoint/files/small-file.js';
import { jsonOrNone } from '../../../core/texts/json.js';
import { absent } from './failures.js';
import { markerName, pathsOf, type StorePaths } from './paths.js';

/** Version of the layout in paths.ts; newer ones are refused. */
const format = 1;

/**
 * Opens a store; with `create`, makes one in a new or empty directory.
 *
 * @throws STORE_INVALID, WRITE_FAILED
 */
export const openStore = async (directory: string, create: boolean): Promise<StorePaths> => {
  if (create) await writing(directory, () => prepare(directory));
  const refused = (reason: string) => new LayerloomError('STORE_INVALID', { store: directory, reason });
  const root = await realpath(directory).catch((error: unknown) => {
    throw refused(
      codeOf(error) === 'ENOENT'
        ? `no such store${orNearPath(directory)}; give the directory of a batch, or the directory given to it by ${optionName('store')}`
        : reasonOf(error),
    );
  });
  const paths = pathsOf(root);
  const found = await formatOf(paths).catch((error: unknown) => {
    throw refused(codeOf(error) === 'ENOTDIR' ? 'is not a directory' : reasonOf(error));
  });
  if (found === undefined)
    throw refused(
      `is not a store: it has no ${markerName}; give the directory of a batch, or the directory given to it by ${optionName('store')}`,
    );
  if (found === 'unreadable') throw refused(`its ${markerName} is not one that layerloom wrote`);
  if (found > format)
    throw refused(
      `is a store of format ${found}, but this layerloom (${version}) supports only ${format}; use a newer version`,
    );
  // Refuses linked folders, through which `gc` would remove files outside the store.
  for (const folder of [paths.shards, paths.claims, paths.partials, paths.experiments]) {
    const reason = linkBelow(root, folder);
    if (reason !== undefined) throw refused(reason);
  }
  return paths;
};

const formatOf = async ({ marker }: StorePaths): Promise<number | 'unreadable' | undefined> => {
  const text = (await readSmallFile(marker).catch(absent))?.toString();
  if (text === undefined) return undefined;
  const value = jsonOrNone(text);
  const found = isObject(value) ? value['layerloomStore'] : undefined;
  return Number.isSafeInteger(found) && (found as number) > 0 ? (found as number) : 'unreadable';
};

/** Prepares a directory for a store. Several processes may do so at once. */
const prepare = async (directory: string): Promise<void> => {
  await makeDirectories(directory);
  const paths = pathsOf(directory);
  const names = await readdir(directory);
  // A temporary marker belongs to another process creating the same store.
  const others = names.filter((name) => !name.startsWith(markerName));
  if (!names.includes(markerName)) {
    if (others.length > 0)
      throw new LayerloomError('STORE_INVALID', {
        store: directory,
        reason: `is neither a store nor empty (${others.slice(0, 3).join(', ')}); choose an empty or a new directory`,
      });
    const marker = `${JSON.stringify({ layerloomStore: format, layerloom: version })}\n`;
    await replaceFile(paths.marker, marker).catch(async (error: unknown) => {
      // While this process was suspended, another process created the store and removed our temporary marker.
      if (codeOf(error) !== 'ENOENT' || (await formatOf(paths)) === undefined) throw error;
    });
    await syncDirectory(directory);
  }
  if ((await formatOf(paths)) !== format) return;
  for (const folder of [paths.shards, paths.claims, paths.partials, paths.experiments])
    await mkdir(folder, { recursive: true });
  // The file exists from the start, because overwriting one byte works even on a full disk.
  if (!names.includes('clock')) await writeFile(paths.clock, '.');
};
