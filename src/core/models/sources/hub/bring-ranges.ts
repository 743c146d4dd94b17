import { dirname } from 'node:path';
import { checkInterrupt, LayerloomError } from '../../../base/errors/errors.js';
import { itemAt } from '../../../base/errors/lookup.js';
import { bytesOf, type Extent } from '../../../tensor/extent.js';
import { checkSpace } from '../../checkpoint/files/disk-space.js';
import { eachOf } from '../ranges/each.js';
import { holdRangeFolder } from '../ranges/folder/hold.js';
import { isComplete } from '../ranges/folder/record.js';
import { type FileNeed, findNeeds } from '../ranges/needs.js';
import { cutIntoParts, decideExtents } from '../ranges/parts.js';
import { RangeFile } from '../ranges/range-file.js';
import type { NeededRanges } from '../source.js';
import { checkOwnFolders } from './cache/cache-writer.js';
import { rangeFolders } from './cache/hub-cache.js';
import { checkRangeFolder } from './cache/own-repository.js';
import { promote } from './cache/promote.js';
import { hubEnvironment } from './environment.js';
import { FileDownload } from './file-download.js';
import type { HubOptions } from './hub.js';
import { type HubSession, mostRequests, openHub } from './requests/session/session.js';

/**
 * Fetches missing ranges over several connections, and records received bytes, so that they are never fetched
 * again. Fetches the whole file if nearly all of it is needed. Moves complete, verified files into the hub's
 * cache, and leaves links.
 *
 * @param needs files outside the cache of ranges are whole and skipped
 * @throws DISK_SPACE before anything is fetched; HUB_FILE_CHANGED if a file changed after its header was
 * fetched; HUB_ACCESS, HUB_NOT_FOUND, HUB_UNAVAILABLE, FILE_MISSING, WRITE_FAILED, INTERRUPTED
 */
export const bringRanges = async (
  needs: readonly NeededRanges[],
  options: HubOptions = {},
): Promise<void> => {
  const files = await findNeeds(needs, rangeFolders);
  await checkPlaces(files, options);
  const extents = decideExtents(
    files.map(({ record, needed }) => ({ bytes: record.bytes, present: record.present, needed })),
  );
  for (const need of files) if (isComplete(need.record)) await promoteFile(need, options);
  const total = extents.reduce((bytes, ofFile) => bytes + bytesOf(ofFile), 0);
  if (total === 0) return;
  await using hub = await openHub(options);
  for (const folder of new Set(files.map(({ place }) => place.folder))) {
    await holdRangeFolder(folder, dirname(dirname(folder)));
    await checkSpace(folder, folder, total);
  }
  let done = 0;
  const onBytes = (bytes: number) => {
    done += bytes;
    options.onProgress?.({ done, total: Math.max(total, done) });
  };
  await fetchAll(hub, files, extents, onBytes).catch(async (error: unknown) => {
    checkInterrupt(options.signal);
    if (isFull(error)) {
      const folder = dirname(error.details.file);
      await checkSpace(folder, folder, Math.max(total - done, 1));
    }
    throw error;
  });
};

/** Refuses to write through links that leave the caches. */
const checkPlaces = async (files: readonly FileNeed[], { env }: HubOptions): Promise<void> => {
  if (files.length === 0) return;
  const { cache } = await hubEnvironment(env);
  for (const { folder, id, commit } of new Map(files.map(({ place }) => [place.folder, place])).values()) {
    await checkRangeFolder(folder);
    checkOwnFolders({ cache, id, commit });
  }
};

/** Moves a file that is already complete, by an interrupted run or by its header's range. */
const promoteFile = async (need: FileNeed, { env, signal }: HubOptions): Promise<void> => {
  const { folder, id, commit } = need.place;
  const { cache } = await hubEnvironment(env);
  await using ranges = await RangeFile.open(folder, need.file, signal);
  if (ranges?.isComplete) await promote(ranges, { cache, id, commit }, need.file, signal);
};

const isFull = (error: unknown): error is LayerloomError<'WRITE_FAILED'> =>
  error instanceof LayerloomError &&
  error.code === 'WRITE_FAILED' &&
  ['ENOSPC', 'EDQUOT'].includes((error.cause as NodeJS.ErrnoException | undefined)?.code ?? '');

const fetchAll = async (
  hub: HubSession,
  files: readonly FileNeed[],
  extents: readonly (readonly Extent[])[],
  onBytes: (bytes: number) => void,
): Promise<void> => {
  const { cache } = hub.environment;
  const downloads = files.map((need, index) => {
    const { id, commit, folder } = need.place;
    const parts = cutIntoParts(itemAt(extents, index));
    const work = { folder, file: need.file, parts: parts.length };
    const download = new FileDownload(hub, { cache, id, commit }, work);
    return { download, parts };
  });
  const parts = downloads.flatMap(({ download, parts }) => parts.map((part) => ({ download, part })));
  try {
    await eachOf(hub, parts, mostRequests, ({ download, part }) => download.fetch(part, onBytes));
  } finally {
    await Promise.all(downloads.map(({ download }) => download.close()));
  }
};
