import { lstat, mkdir, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { LayerloomError, reasonOf } from '../../../base/errors.js';
import { allExist, exists } from '../../../base/exists.js';
import { putInPlace } from '../../../base/put-in-place.js';
import { unlessMissing } from '../../../base/unless-missing.js';
import { type Extent, subtractExtents } from '../../../tensor/extent.js';
import { jsonOrNone } from '../../../texts/json.js';
import { staysInside } from '../../address/file-name.js';
import { isObject } from '../../checkpoint/json.js';
import { readSmallFile } from '../../checkpoint/small-file.js';
import { isComplete, type RangeRecord, readRangeRecord } from './record.js';

// The cache of ranges: models of which only some bytes are here.
//
//   KIND--org--name/COMMIT/               opened like any checkpoint; KIND is of the source, COMMIT 40 hexadecimal digits
//     config.json, tokenizer.json, ...    files, or links to those of another cache
//     model-00001-of-00004.safetensors    a sparse file of its full length, or a link to the whole file
//     .ranges/model.json                  written last: the headers are all here
//     .ranges/NAME.jsonl                  the ranges of a sparse file that are here (range-record.ts)
//     .ranges/holders/                    one locked file for each process that uses the model
//
// Nothing here asks the network.

/** The folder of records within the folder of a commit. */
const recordsName = '.ranges';

/** The record of a model whose headers are here. */
export const modelRecordPath = (folder: string): string => join(folder, recordsName, 'model.json');

/** The record of a weight file. */
export const rangeRecordPath = (folder: string, name: string): string =>
  join(folder, recordsName, ...`${name}.jsonl`.split('/'));

/** The directory of the files that processes lock while they use a model. */
export const holdersPath = (folder: string): string => join(folder, recordsName, 'holders');

/** A commit of a model in the cache of ranges. */
export interface RangeFolder {
  readonly folder: string;
  /** The word by which its source names its folders (`RemoteSource.folders`). */
  readonly kind: string;
  /** `org/name`. */
  readonly id: string;
  readonly commit: string;
}

/** A file in the folder of a commit. */
export interface RangeCachePlace extends RangeFolder {
  /** Its name within the folder. */
  readonly name: string;
}

const folderPattern =
  '(?<folder>.*/(?<kind>[a-z]+)--(?<first>[^/]+?)--(?<rest>[^/]+)/(?<commit>[0-9a-f]{40}))';

const read = (pattern: RegExp, path: string): RangeCachePlace | undefined => {
  const groups = pattern.exec(path.split(sep).join('/'))?.groups;
  if (groups === undefined) return undefined;
  const { folder = '', kind = '', first, rest, commit = '', name = '' } = groups;
  return { folder, kind, id: `${first}/${rest}`, commit, name };
};

const wholePath = new RegExp(`^${folderPattern}$`, 's');

/** Reads the path of the folder of a commit; undefined for other paths. */
export const rangeFolderAt = (path: string): RangeFolder | undefined => read(wholePath, path);

const withinPath = new RegExp(`^${folderPattern}/(?<name>.+)$`, 's');

/**
 * The place of a file in the cache of ranges, under whatever root: undefined for other paths, and for links to
 * blobs, which are whole.
 *
 * @throws LayerloomError READ_FAILED where that cannot be told: what is not here would pass for zeros
 */
export const placeOf = async (path: string): Promise<RangeCachePlace | undefined> => {
  const place = read(withinPath, (await unlessMissing(path, realpath(path))) ?? path);
  if (place === undefined) return undefined;
  const records = join(place.folder, recordsName);
  return (await unlessMissing(records, stat(records))) === undefined ? undefined : place;
};

/** Returns the record of a file in the cache of ranges; undefined for other files, and where it was lost. */
export const recordOf = async (path: string): Promise<RangeRecord | undefined> => {
  const place = await placeOf(path);
  return place === undefined ? undefined : readRangeRecord(rangeRecordPath(place.folder, place.name));
};

/**
 * Returns the bytes of `ranges` that the file at `path` should have and that are not here: they would be read
 * as zeros. None for files outside the cache of ranges, and for whole ones.
 *
 * @returns ascending and disjoint
 */
export const missingRanges = async (path: string, ranges: readonly Extent[]): Promise<Extent[]> => {
  const place = await placeOf(path);
  if (place === undefined) return [];
  const record = await readRangeRecord(rangeRecordPath(place.folder, place.name));
  return subtractExtents(ranges, record?.present ?? []);
};

/**
 * True for a file of the cache of ranges whose record says that all of it is here: a complete file is a link to a
 * verified one, unless the process that fetched it was killed before it verified it, or the record was edited.
 */
export const isUnverified = async (path: string): Promise<boolean> => {
  const record = await recordOf(path);
  return record !== undefined && isComplete(record);
};

/** A model in the cache of ranges, as `.ranges/model.json` describes it. */
export interface RangeCacheModel {
  readonly id: string;
  readonly commit: string;
  /** Names of weight files. */
  readonly weights: readonly string[];
  /** Names of side files. */
  readonly sideFiles: readonly string[];
}

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((name) => typeof name === 'string' && staysInside(name));

/** Parses a record; one that a disk has lost counts as empty, and the headers are fetched again. */
const parseObject = (text: string): Record<string, unknown> => {
  const value = jsonOrNone(text);
  return isObject(value) ? value : {};
};

/** Writes the record of a model, once its headers and side files are here. @throws LayerloomError WRITE_FAILED */
export const writeRangeModel = async (folder: string, model: RangeCacheModel): Promise<void> => {
  const path = modelRecordPath(folder);
  const text = `${JSON.stringify(model, null, 2)}\n`;
  try {
    await mkdir(dirname(path), { recursive: true });
    await putInPlace(path, (temporary) => writeFile(temporary, text, { flush: true }));
  } catch (cause) {
    throw new LayerloomError('WRITE_FAILED', { file: path, reason: reasonOf(cause) }, { cause });
  }
};

/**
 * Reads the record of a model; undefined where its headers are not all here, and for a record of another model.
 *
 * @throws LayerloomError READ_FAILED
 */
export const readRangeModel = async (folder: string): Promise<RangeCacheModel | undefined> => {
  const text = await unlessMissing(modelRecordPath(folder), readSmallFile(modelRecordPath(folder)));
  const at = rangeFolderAt(folder);
  if (text === undefined || at === undefined) return undefined;
  const { id, commit, weights, sideFiles } = parseObject(text.toString());
  if (id !== at.id || commit !== at.commit || !isNames(weights) || !isNames(sideFiles)) return undefined;
  return { id: at.id, commit: at.commit, weights, sideFiles };
};

/**
 * True if the headers and side files of a model are all here. What links lead to may have been removed, and
 * sparse files or their records lost: then they are fetched again.
 *
 * @throws LayerloomError READ_FAILED
 */
export const isUsable = async (folder: string): Promise<boolean> => {
  const model = await readRangeModel(folder);
  if (model === undefined || !(await allExist(model.sideFiles.map((name) => join(folder, name)))))
    return false;
  return (await Promise.all(model.weights.map((name) => isUsableFile(folder, name)))).every(Boolean);
};

/** True for a link to a whole file, and for a sparse file of the length that its record says. */
const isUsableFile = async (folder: string, name: string): Promise<boolean> => {
  const path = join(folder, name);
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || found.isSymbolicLink()) return exists(path);
  return (await readRangeRecord(rangeRecordPath(folder, name)))?.bytes === found.size;
};

/** When a model was last used: its record is touched then. */
export const lastUse = async (folder: string): Promise<Date | undefined> =>
  stat(modelRecordPath(folder)).then(
    ({ mtime }) => mtime,
    () => undefined,
  );
