import { createReadStream } from 'node:fs';
import { checkInterrupt, LayerloomError } from '../../../../base/errors/errors.js';
import { reading } from '../../../../base/files/writing.js';
import type { ListedFile } from '../../ranges/folder/record.js';
import type { RangeFile } from '../../ranges/range-file.js';
import { blobPath, contentCheck, type HubCacheCommit, placeLink, putWholeFile } from './cache-writer.js';

/**
 * Verifies a complete file and moves it into the hub's cache, leaving a link.
 *
 * @throws HUB_FILE_CHANGED if its hash differs; the file is then removed
 */
export const promote = async (
  ranges: RangeFile,
  at: HubCacheCommit,
  file: ListedFile,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const check = contentCheck(file);
  await reading(ranges.path, async () => {
    // Without a signal: in Node 20, a stream created with an aborted signal never closes its file.
    for await (const chunk of createReadStream(ranges.path, { highWaterMark: 1024 * 1024 })) {
      checkInterrupt(signal);
      check.update(chunk as Buffer);
    }
  });
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
