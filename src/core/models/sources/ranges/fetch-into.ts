import { LayerloomError } from '../../../base/errors.js';
import { type Extent, subtractExtents } from '../../../tensor/extent.js';
import { readerOf } from '../../checkpoint/containers/containers.js';
import { readHeader } from '../../checkpoint/containers/read-header.js';
import { descriptionsIn } from '../../checkpoint/descriptions.js';
import type { RangeFile } from './range-file.js';

/** Takes bytes that came, which begin at `position` in the file. */
export type Sink = (chunks: readonly Buffer[], position: number) => Promise<void> | void;

/** A file elsewhere that is read by byte ranges. */
export interface RemoteBytes {
  /** The ETag of the server of the bytes, once it has answered. */
  readonly served: string | undefined;
  /** @param options.mayDiscard take the range out of the whole file where the server ignores ranges */
  read(begin: number, end: number, sink: Sink, options: { readonly mayDiscard: boolean }): Promise<void>;
}

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
 *   `remote.read`, WRITE_FAILED
 */
export const fetchInto = async (
  ranges: RangeFile,
  remote: RemoteBytes,
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

/** Bytes of a weight file that are read first: most headers of a shard are shorter. */
const firstBytes = 64 * 1024;

/**
 * Fetches the header of a weight file.
 *
 * @param name of the file, for messages
 * @returns the ranges of its descriptions, ascending: they are read with the header
 * @throws LayerloomError the codes of the container's headers, and of `fetchInto`; what `remote.read` throws where the
 *   header is not at the start, and the server ignores ranges
 */
export const fetchHeader = async (
  ranges: RangeFile,
  remote: RemoteBytes,
  { name, bytes }: { readonly name: string; readonly bytes: number },
): Promise<readonly Extent[]> => {
  // At the start, where the server ignores ranges, the rest is not waited for.
  const fetch = (begin: number, end: number) =>
    fetchInto(ranges, remote, [{ begin, end }], { mayDiscard: begin <= firstBytes });
  await fetch(0, Math.min(firstBytes, bytes));
  const read = async (begin: number, end: number): Promise<Uint8Array> => {
    await fetch(begin, end);
    return await ranges.read(begin, end);
  };
  const reader = readerOf(name);
  const header = reader.parseHeader(await readHeader(reader, read, name, bytes), name, bytes);
  return descriptionsIn(header)
    .map(([, { begin, end }]) => ({ begin, end }))
    .sort((a, b) => a.begin - b.begin);
};
