import type { FetchOptions, NeededRanges } from './source.js';
import { remoteSources } from './sources.js';

/** Returns the hash that a file's source states, if any. */
export const statedContent = async (path: string): Promise<string | undefined> => {
  const stated = await Promise.all(remoteSources.map((source) => source.statedContent(path)));
  return stated.find((content) => content !== undefined);
};

/**
 * Fetches missing bytes for a run.
 *
 * @throws errors of the sources' `bringRanges`
 */
export const bringRanges = async (needs: readonly NeededRanges[], options: FetchOptions): Promise<void> => {
  for (const source of remoteSources) await source.bringRanges(needs, options);
};
