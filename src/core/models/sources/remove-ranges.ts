import { readdir, rename, rm, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { exists } from '../../base/files/exists.js';
import { foreignBelow, foreignDirectory } from '../../base/files/own-directory.js';
import { writing } from '../../base/files/writing.js';
import { rangeFolderAt } from './ranges/folder/folder.js';
import { cacheLock, isHeld } from './ranges/folder/hold.js';
import { withLock } from './ranges/folder/lock.js';
import { rangeCacheRoot } from './ranges/folder/root.js';
import { listRangeCache, type RangeCacheEntry } from './ranges/list.js';
import { remoteSources } from './sources.js';

export interface RangeCacheSelection {
  /** `org/name` for all commits, or `org/name@commit` with a whole or abbreviated hash. */
  readonly models?: readonly string[] | undefined;
  /** Remove only models unused for this many milliseconds, among `models` if given. */
  readonly unusedFor?: number | undefined;
  readonly dryRun?: boolean | undefined;
  readonly env?: NodeJS.ProcessEnv | undefined;
}

/** The result of `removeFromRangeCache`. */
export interface RangeCacheRemoval {
  readonly removed: readonly RangeCacheEntry[];
  /** Selected models that were kept because a process uses them. */
  readonly inUse: readonly RangeCacheEntry[];
  /** Why other selected models were kept: a folder on their path is a link or another user's. */
  readonly foreign: readonly string[];
  /** Bytes freed on disk. */
  readonly freed: number;
}

/**
 * Removes models from the cache of ranges: selected models, models that another cache has whole, and leftovers of
 * interrupted downloads. Keeps models in use.
 *
 * @throws WRITE_FAILED
 */
export const removeFromRangeCache = async (
  selection: RangeCacheSelection = {},
): Promise<RangeCacheRemoval> => {
  const env = selection.env ?? process.env;
  const root = rangeCacheRoot(env);
  if (!(await exists(root))) return { removed: [], inUse: [], foreign: [], freed: 0 };
  const reason = foreignDirectory(root);
  if (reason !== undefined) throw new LayerloomError('WRITE_FAILED', { file: root, reason });
  return withLock(cacheLock(root), undefined, async () => {
    const removed: RangeCacheEntry[] = [];
    const inUse: RangeCacheEntry[] = [];
    const foreign = new Set<string>();
    for (const entry of await listRangeCache(root)) {
      if (!isChosen(entry, selection) && !(await isUseless(entry, env))) continue;
      const reason = foreignBelow(root, entry.folder);
      if (reason !== undefined) foreign.add(reason);
      else if (await isHeld(entry.folder)) inUse.push(entry);
      else removed.push(entry);
    }
    if (!selection.dryRun) {
      for (const { folder } of removed) await removeFolder(folder);
      await removeLeftovers(root);
    }
    return {
      removed,
      inUse,
      foreign: [...foreign],
      freed: removed.reduce((bytes, { onDisk }) => bytes + onDisk, 0),
    };
  });
};

const isChosen = (
  { id, commit, lastUse }: RangeCacheEntry,
  { models, unusedFor }: RangeCacheSelection,
): boolean => {
  if (models === undefined && unusedFor === undefined) return false;
  const isNamed =
    models?.some((model) => model === id || `${id}@${commit}`.startsWith(atLeast(model))) ?? true;
  const idle = lastUse === undefined ? Number.POSITIVE_INFINITY : Date.now() - lastUse.getTime();
  return isNamed && idle >= (unusedFor ?? 0);
};

/** Ends a name without a commit by `@`, so that `org/na` does not match `org/name`. */
const atLeast = (model: string): string => (/@[0-9a-f]+$/.test(model) ? model : `${model}@ `);

/** True for a model with incomplete headers, a removed file, or a complete copy in its source's cache. */
const isUseless = async (
  { folder, files, lastUse }: RangeCacheEntry,
  env: NodeJS.ProcessEnv,
): Promise<boolean> => {
  if (lastUse === undefined || files.some(({ kind }) => kind === 'broken link')) return true;
  const at = rangeFolderAt(folder);
  const source = remoteSources.find(({ folders }) => folders === at?.kind);
  const names = files.map(({ name }) => name);
  return at !== undefined && (await source?.hasElsewhere?.(at, names, env)) === true;
};

const removing = '.removing';

/** Renames before removing, so that no process finds a half-removed folder. */
const removeFolder = async (folder: string): Promise<void> => {
  await writing(folder, async () => {
    await rename(folder, `${folder}${removing}`);
    await rm(`${folder}${removing}`, { recursive: true, force: true });
    await rmdir(dirname(folder)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error;
    });
  });
};

const leftoverName = new RegExp(`^[0-9a-f]{40}\\${removing}$`);

const removeLeftovers = async (root: string): Promise<void> => {
  for (const model of await readdir(root, { withFileTypes: true })) {
    const directory = join(root, model.name);
    if (!model.isDirectory() || foreignDirectory(directory) !== undefined) continue;
    for (const name of (await readdir(directory)).filter((each) => leftoverName.test(each))) {
      const path = join(directory, name);
      if (foreignDirectory(path) === undefined) await rm(path, { recursive: true, force: true });
    }
  }
};
