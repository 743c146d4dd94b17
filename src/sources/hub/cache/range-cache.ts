import { lstat, readlink, realpath, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import type { FoundModel } from '../../../address/found-model.js';
import { parseHubId } from '../../../address/remote.js';
import { allExist, exists } from '../../../base/exists.js';
import { isObject } from '../../../checkpoint/json.js';
import { readSmallFile } from '../../../checkpoint/small-file.js';
import { type Extent, subtractExtents } from '../../../tensor/extent.js';
import { variable } from '../variables.js';
import { cachedCommit, expandPath, hubHome, modelFolder } from './hub-cache.js';
import { type HubContent, isComplete, type RangeRecord, readRangeRecord } from './range-record.js';

// The cache of ranges: models of the hub of which only some bytes are here.
//
//   models--org--name/COMMIT/             opened like any checkpoint
//     config.json, tokenizer.json, ...    links to blobs of the hub's cache
//     model-00001-of-00004.safetensors    a sparse file of its full length, or a link to the whole blob
//     .ranges/model.json                  written last: the headers are all here
//     .ranges/NAME.jsonl                  the ranges of a sparse file that are here (range-record.ts)
//     .ranges/holders/                    one locked file for each process that uses the model
//
// Nothing here asks the network.

/** The folder of records within the folder of a commit. */
const recordsName = '.ranges';

/** The cache of ranges: `$LAYERLOOM_CACHE`, else `layerloom` beside the hub's cache. */
export const rangeCacheRoot = (env: NodeJS.ProcessEnv = process.env): string =>
  expandPath(variable(env, 'LAYERLOOM_CACHE') ?? join(hubHome(env), 'layerloom'), env);

/** The folder of a commit. */
export const rangeFolder = (id: string, commit: string, root = rangeCacheRoot()): string =>
  join(root, modelFolder(id), commit);

/** The record of a model whose headers are here. */
export const modelRecordPath = (folder: string): string => join(folder, recordsName, 'model.json');

/** The record of a weight file. */
export const rangeRecordPath = (folder: string, name: string): string =>
  join(folder, recordsName, ...`${name}.jsonl`.split('/'));

/** The directory of the files that processes lock while they use a model. */
export const holdersPath = (folder: string): string => join(folder, recordsName, 'holders');

/** A file in the folder of a commit. */
export interface RangeCachePlace {
  readonly folder: string;
  readonly id: string;
  readonly commit: string;
  /** Its name within the folder. */
  readonly name: string;
}

const inFolder =
  /^(?<folder>.*\/models--(?<organisation>[^/]+?)--(?<model>[^/]+)\/(?<commit>[0-9a-f]{40}))\/(?<name>.+)$/s;

/**
 * The place of a file in the cache of ranges, under whatever root: undefined for other paths, and for links to
 * blobs, which are whole.
 */
export const placeOf = async (path: string): Promise<RangeCachePlace | undefined> => {
  const real = await realpath(path).catch(() => path);
  const groups = inFolder.exec(real.split(sep).join('/'))?.groups;
  if (groups === undefined) return undefined;
  const { folder = '', organisation, model, commit = '', name = '' } = groups;
  if (!(await exists(join(folder, recordsName)))) return undefined;
  return { folder, id: `${organisation}/${model}`, commit, name };
};

const recordOf = async (path: string): Promise<RangeRecord | undefined> => {
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

const blobPath = /\/models--[^/]+\/blobs\/(?<etag>[0-9a-f]{40}|[0-9a-f]{64})$/;

const mostLinks = 8;

/** The ETag of the blob that a path is or leads to; links behind it, to blobs that models share, have other names. */
const blobEtag = async (path: string): Promise<string | undefined> => {
  let at = path;
  for (let links = 0; links <= mostLinks; links += 1) {
    const etag = blobPath.exec(at.split(sep).join('/'))?.groups?.['etag'];
    if (etag !== undefined) return etag;
    const target = await readlink(at).catch(() => undefined);
    if (target === undefined) return undefined;
    at = resolve(await realpath(dirname(at)), target);
  }
  return undefined;
};

/**
 * Returns the content of a file as the hub names it, which does not change while ranges of the file arrive:
 * of files in the cache of ranges, and of blobs in the hub's cache and links to them. Undefined for others.
 */
export const contentOf = async (path: string): Promise<HubContent | undefined> => {
  const record = await recordOf(path);
  if (record !== undefined)
    return { etag: record.etag, ...(record.sha256 === undefined ? {} : { sha256: record.sha256 }) };
  const etag = await blobEtag(path);
  return etag?.length === 64 ? { etag, sha256: etag } : etag === undefined ? undefined : { etag };
};

/** A model in the cache of ranges, as `.ranges/model.json` describes it. */
export interface RangeCacheModel {
  readonly id: string;
  readonly commit: string;
  /** Names of weight files. */
  readonly weights: readonly string[];
  /** Names of side files, which are links into the hub's cache. */
  readonly sideFiles: readonly string[];
}

const isNames = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((name) => typeof name === 'string');

/** Parses a record; one that a disk has lost counts as empty, and the headers are fetched again. */
const parseObject = (text: string): Record<string, unknown> => {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : {};
  } catch {
    return {};
  }
};

/** Reads the record of a model; undefined where its headers are not all here. */
export const readRangeModel = async (folder: string): Promise<RangeCacheModel | undefined> => {
  const text = await readSmallFile(modelRecordPath(folder)).catch(() => undefined);
  if (text === undefined) return undefined;
  const { id, commit, weights, sideFiles } = parseObject(text.toString());
  if (typeof id !== 'string' || typeof commit !== 'string' || !isNames(weights) || !isNames(sideFiles))
    return undefined;
  return { id, commit, weights, sideFiles };
};

/**
 * True if the headers and side files of a model are all here. Blobs of the hub's cache may have been removed, and
 * sparse files or their records lost: then they are fetched again.
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

/**
 * Finds `org/name[@revision]` in the cache of ranges, by the commit that the hub's cache has for the revision;
 * undefined where the model's headers are not here, and for other spellings.
 */
export const rangeCacheOf = async (
  model: string,
  env: NodeJS.ProcessEnv = process.env,
): Promise<FoundModel | undefined> => {
  const parsed = parseHubId(model);
  if (parsed === undefined) return undefined;
  const commit = await cachedCommit(parsed, env);
  const path = rangeFolder(parsed.id, commit, rangeCacheRoot(env));
  if (!(await isUsable(path))) return undefined;
  return { name: parsed.id, path, hub: { id: parsed.id, revision: commit } };
};

/** When a model was last used: its record is touched then. */
export const lastUse = async (folder: string): Promise<Date | undefined> =>
  stat(modelRecordPath(folder)).then(
    ({ mtime }) => mtime,
    () => undefined,
  );
