import { LayerloomError } from '../../base/errors.js';
import { type Extent, subtractExtents } from '../../tensor/extent.js';
import type { RangeFile } from './cache/range-file.js';
import type { RemoteFile } from './requests/remote-file.js';

interface FetchOptions {
  /** Called with the number of bytes that came. */
  readonly onBytes?: (bytes: number) => void;
  /** Take ranges out of the whole file where the server ignores ranges. */
  readonly mayDiscard?: boolean;
  /** What counts as here. */
  readonly present?: readonly Extent[];
}

/**
 * Fetches what a sparse file lacks of `extents`, and records it.
 *
 * @throws LayerloomError HUB_FILE_CHANGED, after which nothing of the file is here; the other codes of
 *   `RemoteFile.read`, WRITE_FAILED
 */
export const fetchInto = async (
  ranges: RangeFile,
  remote: RemoteFile,
  extents: readonly Extent[],
  { onBytes, mayDiscard = false, present = ranges.present }: FetchOptions = {},
): Promise<void> => {
  try {
    for (const { begin, end } of subtractExtents(extents, present))
      await remote.read(
        begin,
        end,
        async (chunks, position) => {
          await ranges.noteServed(remote.served);
          await ranges.write(chunks, position);
          onBytes?.(chunks.reduce((bytes, chunk) => bytes + chunk.length, 0));
        },
        { mayDiscard },
      );
    await ranges.record();
  } catch (error) {
    if (error instanceof LayerloomError && error.code === 'HUB_FILE_CHANGED') await ranges.discard();
    throw error;
  }
};
