import { LayerloomError } from '../../../base/errors/errors.js';
import { type Extent, subtractExtents } from '../../../tensor/extent.js';
import { readerOf } from '../../checkpoint/containers/containers.js';
import { readHeader } from '../../checkpoint/containers/read-header.js';
import { descriptionsIn } from '../../checkpoint/descriptions.js';
import type { RangeFile } from './range-file.js';

export type Sink = (chunks: readonly Buffer[], position: number) => Promise<void> | void;

export interface RemoteBytes {
  readonly served: string | undefined;
  /** @param options.mayDiscard true to take the range from the whole file, if the server ignores ranges */
  read(begin: number, end: number, sink: Sink, options: { readonly mayDiscard: boolean }): Promise<void>;
}

interface FetchOptions {
  readonly onBytes?: (bytes: number) => void;
  readonly mayDiscard?: boolean;
  /** Ranges to skip; default: the recorded ones. */
  readonly present?: readonly Extent[];
}

/**
 * Fetches and records the missing bytes of `extents`.
 *
 * @throws HUB_FILE_CHANGED, after discarding the file; other errors of `remote.read`, WRITE_FAILED
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

const firstBytes = 64 * 1024;

/**
 * Fetches a weight file's header.
 *
 * @returns the ranges of its descriptions, ascending
 * @throws errors of the container's headers and of `fetchInto`; errors of `remote.read` if the header is not
 *   at the start and the server ignores ranges
 */
export const fetchHeader = async (
  ranges: RangeFile,
  remote: RemoteBytes,
  { name, bytes }: { readonly name: string; readonly bytes: number },
): Promise<readonly Extent[]> => {
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
