import { join } from 'node:path';
import { LayerloomError } from '../../../base/errors/errors.js';
import { invalidParameter } from '../../../base/errors/invalid-parameter.js';
import { allExist, exists } from '../../../base/files/exists.js';
import { type Extent, subtractExtents } from '../../../tensor/extent.js';
import { type HubModel, isCommit, parseHubId } from '../../address/remote.js';
import type { CheckpointFiles } from '../ranges/choose-files.js';
import { eachOf } from '../ranges/each.js';
import { fetchHeader, fetchInto } from '../ranges/fetch-into.js';
import { isUsable, type RangeCacheModel, writeRangeModel } from '../ranges/folder/folder.js';
import { holdRangeFolder } from '../ranges/folder/hold.js';
import type { ListedFile } from '../ranges/folder/record.js';
import { RangeFile } from '../ranges/range-file.js';
import { bringSideFiles } from './bring-side-files.js';
import {
  blobPath,
  checkOwnFolders,
  type HubCacheCommit,
  placeLink,
  pointerPath,
  snapshotPath,
  writeRef,
} from './cache/cache-writer.js';
import { checkRangeFolder } from './cache/own-repository.js';
import { rangeFolder } from './cache/range-folders.js';
import type { BroughtModel, HubOptions } from './hub.js';
import { findOffline } from './offline.js';
import { askCommit, listFiles } from './requests/api.js';
import { RangesIgnored, RemoteFile } from './requests/remote-file.js';
import { type HubSession, mostRequests, openHub } from './requests/session/session.js';
import { unavailable } from './requests/session/unavailable.js';

/**
 * Fetches a hub model's side files into the hub's cache, and headers and descriptions into the cache of
 * ranges: of each weight file only the first 64 KiB and bytes around its header. Uses a model that the hub's
 * cache has whole; with `HF_HUB_OFFLINE`, uses either cache. Never fetches code, weights that the index
 * omits, or pickles beside safetensors.
 *
 * @throws INVALID_PARAMETER for other spellings; HUB_ACCESS, HUB_NOT_FOUND, HUB_UNAVAILABLE,
 * HUB_FILE_CHANGED; NOT_A_CHECKPOINT without readable weights; FILE_MISSING, INDEX_INVALID,
 * INDEX_UNSAFE_NAME, FILE_TOO_SHORT, HEADER_TOO_LARGE, HEADER_TRUNCATED; WRITE_FAILED, INTERRUPTED
 */
export const bringHeaders = async (model: string, options: HubOptions = {}): Promise<BroughtModel> => {
  const asked = parseModel(model);
  const kept = await findOffline(asked, options.env);
  if (kept !== undefined) return kept;
  await using hub = await openHub(options);
  const { id } = asked;
  const commit = isCommit(asked.revision) ? asked.revision : await askCommit(hub, asked);
  const at: HubCacheCommit = { cache: hub.environment.cache, id, commit };
  const folder = rangeFolder(id, commit, hub.environment.ranges);
  checkOwnFolders(at);
  await checkRangeFolder(folder);
  const path = (await isUsable(folder)) ? folder : await bringCommit(hub, at, folder);
  if (path === folder) await holdRangeFolder(folder, hub.environment.ranges);
  // Another process may have removed the folder before this one held it.
  if (path === folder && !(await isUsable(folder))) await bringCommit(hub, at, folder);
  await writeRef(at, asked.revision).catch((error: unknown) => {
    // Ignores the failure for a whole model, which may be in a cache that this user cannot write to.
    if (path === folder || !(error instanceof LayerloomError && error.code === 'WRITE_FAILED')) throw error;
  });
  return { path, id, revision: commit };
};

/** @returns the snapshot if the hub's cache has the whole model; otherwise `folder` */
const bringCommit = async (hub: HubSession, at: HubCacheCommit, folder: string): Promise<string> => {
  const files = await bringSideFiles(hub, at, await listFiles(hub, at));
  if (await allExist(files.weights.map(({ name }) => pointerPath(at, name)))) return snapshotPath(at);
  await bringFolder(hub, at, folder, files);
  return folder;
};

const parseModel = (model: string): HubModel => {
  const asked = parseHubId(model);
  if (asked === undefined) throw invalidParameter('model', model, 'org/name or org/name@revision');
  return asked;
};

const bringFolder = async (
  hub: HubSession,
  at: HubCacheCommit,
  folder: string,
  { sideFiles, weights }: CheckpointFiles<ListedFile>,
): Promise<void> => {
  await holdRangeFolder(folder, hub.environment.ranges);
  await eachOf(hub, weights, mostRequests, (file) => bringHeader(hub, at, folder, file));
  for (const file of sideFiles) await linkTo(folder, at, file);
  const record: RangeCacheModel = {
    id: at.id,
    commit: at.commit,
    weights: weights.map(({ name }) => name),
    sideFiles: sideFiles.map(({ name }) => name),
  };
  await writeRangeModel(folder, record);
};

const linkTo = async (folder: string, at: HubCacheCommit, file: ListedFile): Promise<void> => {
  const blob = blobPath(at, file);
  const target = (await exists(blob)) ? blob : pointerPath(at, file.name);
  await placeLink(join(folder, ...file.name.split('/')), target);
};

const bringHeader = async (
  hub: HubSession,
  at: HubCacheCommit,
  folder: string,
  file: ListedFile,
): Promise<void> => {
  if (await exists(pointerPath(at, file.name))) return linkTo(folder, at, file);
  await using ranges = await RangeFile.open(folder, file, hub.signal);
  if (ranges === undefined) return;
  const remote = new RemoteFile(hub, at, file, ranges.served);
  const descriptions = await headerOf(hub, at, file, ranges, remote);
  await bringDescriptions(hub, ranges, remote, descriptions);
};

/**
 * Fetches a file's header.
 *
 * @returns ranges of its descriptions, ascending
 */
const headerOf = async (
  hub: HubSession,
  at: HubCacheCommit,
  file: ListedFile,
  ranges: RangeFile,
  remote: RemoteFile,
): Promise<readonly Extent[]> => {
  try {
    return await fetchHeader(ranges, remote, { name: `${at.id}/${file.name}`, bytes: file.bytes });
  } catch (error) {
    if (!(error instanceof RangesIgnored)) throw error;
    const reason = `ignores byte ranges, by which alone ${file.name} is read`;
    throw unavailable(hub, reason, `fetch all of it by \`hf download ${at.id}\``);
  }
};

const bringDescriptions = async (
  hub: HubSession,
  ranges: RangeFile,
  remote: RemoteFile,
  extents: readonly Extent[],
): Promise<void> => {
  const [first, ...others] = subtractExtents(extents, ranges.present);
  if (first === undefined) return;
  try {
    await fetchInto(ranges, remote, [first]);
  } catch (error) {
    if (!(error instanceof RangesIgnored)) throw error;
    // A server that answers each range with the whole file gets a single request.
    const all = { begin: first.begin, end: others.at(-1)?.end ?? first.end };
    return await fetchInto(ranges, remote, [all], { mayDiscard: true });
  }
  await eachOf(hub, others, mostRequests, (extent) => fetchInto(ranges, remote, [extent]));
};
