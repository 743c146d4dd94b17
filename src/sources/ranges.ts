import type { Extent } from '../tensor/extent.js';
import type { FetchOptions, NeededRanges } from './source.js';
import { remoteSources } from './sources.js';

// A file is of one source at most: its ranges, and what is stated of its content, are what that one says.

/** Returns the bytes of `ranges` that a file should have and that are not here: they would be read as zeros. */
export const missingRanges = async (path: string, ranges: readonly Extent[]): Promise<readonly Extent[]> =>
  (await Promise.all(remoteSources.map((source) => source.missingRanges(path, ranges)))).flat();

/** True for a file of which all is here and was not verified. */
export const isUnverified = async (path: string): Promise<boolean> =>
  (await Promise.all(remoteSources.map((source) => source.isUnverified(path)))).includes(true);

/** Returns the hash that a source states of a file's content; undefined for files that are identified by what is read of them. */
export const statedContent = async (path: string): Promise<string | undefined> => {
  const stated = await Promise.all(remoteSources.map((source) => source.statedContent(path)));
  return stated.find((content) => content !== undefined);
};

/**
 * Fetches what is missing of the byte ranges that a run needs.
 *
 * @throws LayerloomError the codes of the sources' `bringRanges`
 */
export const bringRanges = async (needs: readonly NeededRanges[], options: FetchOptions): Promise<void> => {
  for (const source of remoteSources) await source.bringRanges(needs, options);
};
