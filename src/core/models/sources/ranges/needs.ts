import { LayerloomError } from '../../../base/errors/errors.js';
import type { Extent } from '../../../tensor/extent.js';
import type { NeededRanges } from '../source.js';
import { placeOf, type RangeCachePlace, rangeRecordPath } from './folder/folder.js';
import { type ListedFile, type RangeRecord, readRangeRecord } from './folder/record.js';

export interface FileNeed {
  readonly place: RangeCachePlace;
  readonly record: RangeRecord;
  readonly file: ListedFile;
  readonly needed: readonly Extent[];
}

/**
 * Finds a source's files in the cache of ranges; skips all other files.
 *
 * @throws FILE_MISSING if a file's record was lost
 */
export const findNeeds = async (needs: readonly NeededRanges[], kind: string): Promise<FileNeed[]> => {
  const found = await Promise.all(
    needs.map(async ({ path, ranges }): Promise<FileNeed[]> => {
      const place = await placeOf(path);
      if (place?.kind !== kind) return [];
      const { folder, id, commit, name } = place;
      const record = await readRangeRecord(rangeRecordPath(folder, name));
      if (record === undefined)
        throw new LayerloomError('FILE_MISSING', { file: path, neededBy: `${id}@${commit}` });
      const { bytes, etag, sha256 } = record;
      const file = { name, bytes, etag, ...(sha256 === undefined ? {} : { sha256 }) };
      return [{ place, record, file, needed: ranges }];
    }),
  );
  return found.flat();
};
