import { lstat, mkdir, realpath, stat, writeFile } from 'node:fs/promises';
import { dirname, join, sep } from 'node:path';
import { allExist, exists } from '../../../../base/files/exists.js';
import { putInPlace } from '../../../../base/files/put-in-place.js';
import { unlessMissing } from '../../../../base/files/unless-missing.js';
import { writing } from '../../../../base/files/writing.js';
import { type Extent, subtractExtents } from '../../../../tensor/extent.js';
import { jsonOrNone } from '../../../../texts/json.js';
import { staysInside } from '../../../address/file-name.js';
import { isObject } from '../../../checkpoint/files/json.js';
import { readSmallFile } from '../../../checkpoint/files/small-file.js';
import { isComplete, type RangeRecord, readRangeRecord } from './record.js';

// The cache of ranges: partly downloaded models. Nothing here uses the network.
//
//     KIND--org--name/COMMIT/               opened like any checkpoint; COMMIT is 40 hex digits
//       config.json, tokenizer.json, ...    files, or links into another cache
//       model-00001-of-00004.safetensors    a sparse file of full length, or a link to the whole file
//       .ranges/model.json                  written last: all headers are here
//       .ranges/NAME.jsonl                  the ranges present in a sparse file (record.ts)
//       .ranges/holders/                    one locked file per process using the model

const recordsName = '.ranges';

export const modelRecordPath = (folder: string): string => join(folder, recordsName, 'model.json');

export const rangeRecordPath = (folder: string, name: string): string =>
  join(folder, recordsName, ...`${name}.jsonl`.split('/'));

export const holdersPath = (folder: string): string => join(folder, recordsName, 'holders');

export interface RangeFolder {
  readonly folder: string;
  /** Prefix of its source's folders (`RemoteSource.folders`). */
  readonly kind: string;
  readonly id: string;
  readonly commit: string;
}

export interface RangeCachePlace extends RangeFolder {
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

/** Parses a commit folder's path; undefined for other paths. */
export const rangeFolderAt = (path: string): RangeFolder | undefined => read(wholePath, path);

const withinPath = new RegExp(`^${folderPattern}/(?<name>.+)$`, 's');

/**
 * Parses the path of a file in any cache of ranges; undefined for other paths, and for links to blobs, which
 * are whole.
 *
 * @throws READ_FAILED if this cannot be decided: missing bytes would be read as zeros
 */
export const placeOf = async (path: string): Promise<RangeCachePlace | undefined> => {
  const place = read(withinPath, (await unlessMissing(path, realpath(path))) ?? path);
  if (place === undefined) return undefined;
  const records = join(place.folder, recordsName);
  return (await unlessMissing(records, stat(records))) === undefined ? undefined : place;
};

/** Returns a file's record; undefined for other files, and if the record was lost. */
export const recordOf = async (path: string): Promise<RangeRecord | undefined> => {
  const place = await placeOf(path);
  return place === undefined ? undefined : readRangeRecord(rangeRecordPath(place.folder, place.name));
};

/**
 * Returns the bytes of `ranges` that a file lacks, which would be read as zeros. Empty for whole files, and
 * outside the cache of ranges.
 *
 * @returns ascending, without overlaps
 */
export const missingRanges = async (path: string, ranges: readonly Extent[]): Promise<Extent[]> =>
  (await stateOfRanges(path, ranges)).missing;

/** Also says if verifying was interrupted: the record is complete, and a verified file would be a link. */
export const stateOfRanges = async (path: string, ranges: readonly Extent[]) => {
  const place = await placeOf(path);
  if (place === undefined) return { missing: [], isUnverified: false };
  const record = await readRangeRecord(rangeRecordPath(place.folder, place.name));
  return {
    missing: subtractExtents(ranges, record?.present ?? []),
    isUnverified: record !== undefined && isComplete(record),
  };
};

/** The content of `.ranges/model.json`. */
export interface RangeCacheModel {
  readonly id: string;
  readonly commit: string;
  readonly weights: readonly string[];
  readonly sideFiles: readonly string[];
}

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((name) => typeof name === 'string' && staysInside(name));

/** Parses a record. A damaged record counts as empty, so that headers are fetched again. */
const parseObject = (text: string): Record<string, unknown> => {
  const value = jsonOrNone(text);
  return isObject(value) ? value : {};
};

/**
 * Writes a model's record, after its headers and side files.
 *
 * @throws WRITE_FAILED
 */
export const writeRangeModel = async (folder: string, model: RangeCacheModel): Promise<void> => {
  const path = modelRecordPath(folder);
  const text = `${JSON.stringify(model, null, 2)}\n`;
  await writing(path, async () => {
    await mkdir(dirname(path), { recursive: true });
    await putInPlace(path, (temporary) => writeFile(temporary, text, { flush: true }));
  });
};

/**
 * Reads a model's record; undefined if headers are missing, or the record is another model's.
 *
 * @throws READ_FAILED
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
 * True if all headers and side files of a model are present. Otherwise they are fetched again: targets of links, sparse
 * files or records may have been removed.
 *
 * @throws READ_FAILED
 */
export const isUsable = async (folder: string): Promise<boolean> => {
  const model = await readRangeModel(folder);
  if (model === undefined || !(await allExist(model.sideFiles.map((name) => join(folder, name)))))
    return false;
  return (await Promise.all(model.weights.map((name) => isUsableFile(folder, name)))).every(Boolean);
};

const isUsableFile = async (folder: string, name: string): Promise<boolean> => {
  const path = join(folder, name);
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined || found.isSymbolicLink()) return exists(path);
  return (await readRangeRecord(rangeRecordPath(folder, name)))?.bytes === found.size;
};

/** Returns the time of a model's last use: its record's mtime. */
export const lastUse = async (folder: string): Promise<Date | undefined> =>
  stat(modelRecordPath(folder)).then(
    ({ mtime }) => mtime,
    () => undefined,
  );
