import { createReadStream } from 'node:fs';
import { LayerloomError } from '../../../base/errors.js';
import type { RangeFile } from '../../ranges/range-file.js';
import type { ListedFile } from '../../ranges/record.js';
import { blobPath, contentCheck, type HubCacheCommit, placeLink, putWholeFile } from './cache-writer.js';

/**
 * Verifies a complete file and moves it into the hub's cache; the cache of ranges keeps a link to it.
 *
 * @throws LayerloomError HUB_FILE_CHANGED where its hash is another one, after which nothing of it is here
 */
export const promote = async (
  ranges: RangeFile,
  at: HubCacheCommit,
  file: ListedFile,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const check = contentCheck(file);
  for await (const chunk of createReadStream(ranges.path, {
    highWaterMark: 1024 * 1024,
    ...(signal === undefined ? {} : { signal }),
  }))
    check.update(chunk as Buffer);
  const expected = check.mismatch();
  if (expected !== undefined) {
    await ranges.discard();
    const reason = `has other bytes than the hub's hash ${expected} says`;
    throw new LayerloomError('HUB_FILE_CHANGED', { model: at.id, file: file.name, reason });
  }
  await putWholeFile(at, file, ranges.path, signal);
  await placeLink(ranges.path, blobPath(at, file));
  await ranges.forget();
};
