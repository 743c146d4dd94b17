import { lstat, readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { namesIn } from '../../../base/files/unless-missing.js';
import { bytesOf } from '../../../tensor/extent.js';
import { isWeightsName } from '../../checkpoint/containers/containers.js';
import { lastUse, type RangeFolder, rangeFolderAt, rangeRecordPath } from './folder/folder.js';
import { readRangeRecord } from './folder/record.js';
import { rangeCacheRoot } from './folder/root.js';

/** A weight file in the cache of ranges. */
export interface RangeCacheFile {
  readonly name: string;
  /** Length of the whole file; 0 for a broken link. */
  readonly bytes: number;
  /** Bytes of the file that the cache has. */
  readonly present: number;
  /** Bytes on disk; 0 for a link. */
  readonly onDisk: number;
  /** `link` if the hub's cache has the whole file. */
  readonly kind: 'ranges' | 'link' | 'broken link';
}

/** A model's commit in the cache of ranges. */
export interface RangeCacheEntry {
  readonly id: string;
  readonly commit: string;
  readonly folder: string;
  readonly files: readonly RangeCacheFile[];
  readonly onDisk: number;
  /** Time of the last use; undefined if a download of headers was interrupted. */
  readonly lastUse: Date | undefined;
}

const describe = async (folder: string, name: string): Promise<RangeCacheFile> => {
  const path = join(folder, name);
  const found = await lstat(path);
  if (found.isSymbolicLink()) {
    const blob = await stat(path).catch(() => undefined);
    const bytes = blob?.size ?? 0;
    return { name, bytes, present: bytes, onDisk: 0, kind: blob === undefined ? 'broken link' : 'link' };
  }
  const record = await readRangeRecord(rangeRecordPath(folder, name));
  const present = bytesOf(record?.present ?? []);
  return { name, bytes: found.size, present, onDisk: found.blocks * 512, kind: 'ranges' };
};

const describeFolder = async ({ id, commit, folder }: RangeFolder): Promise<RangeCacheEntry> => {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const weights = entries
    .filter((entry) => !entry.isDirectory() && isWeightsName(entry.name))
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)).split(sep).join('/'))
    .sort();
  const files = await Promise.all(weights.map((name) => describe(folder, name)));
  const onDisk = files.reduce((bytes, file) => bytes + file.onDisk, 0);
  return { id, commit, folder, files, onDisk, lastUse: await lastUse(folder) };
};

export const listRangeCache = async (root = rangeCacheRoot()): Promise<RangeCacheEntry[]> => {
  const found: RangeCacheEntry[] = [];
  for (const model of (await namesIn(root)).sort())
    for (const commit of (await namesIn(join(root, model))).sort()) {
      const at = rangeFolderAt(join(root, model, commit));
      if (at !== undefined) found.push(await describeFolder(at));
    }
  return found;
};
