import { LayerloomError } from '../base/errors/errors.js';
import { gigabytes } from '../base/errors/gigabytes.js';
import { bringRanges } from '../models/sources/bring-ranges.js';
import type { Download, DownloadProgress, FetchOptions } from '../models/sources/source.js';
import type { MissingWeights } from '../plan/reports/missing-weights.js';

/** @throws DOWNLOAD_NEEDED if weights are missing and may not be fetched */
export const requireWeights = (
  { needs, models }: Pick<MissingWeights, 'needs' | 'models'>,
  download: Download | undefined,
): void => {
  if (needs.length > 0 && download !== true) throw new LayerloomError('DOWNLOAD_NEEDED', { models });
};

/**
 * Fetches missing weights, resuming interrupted downloads. Verifies complete files by hash.
 *
 * @throws DOWNLOAD_NEEDED if fetching is not allowed; the codes of `bringRanges`
 */
export const bringWeights = async (
  { needs, models, unverified }: MissingWeights,
  download: Download,
  options: FetchOptions,
): Promise<void> => {
  requireWeights({ needs, models }, download);
  const files = [...needs, ...unverified.map((path) => ({ path, ranges: [] }))];
  if (files.length === 0) return;
  let fetched = 0;
  const onProgress = (progress: DownloadProgress) => {
    fetched = progress.done;
    options.onProgress?.(progress);
  };
  try {
    await bringRanges(files, { ...options, onProgress });
  } catch (cause) {
    if (!options.signal?.aborted) throw cause;
    const state = `${gigabytes(fetched)} were fetched, which stay in the cache and are not fetched again`;
    throw new LayerloomError('INTERRUPTED', { state, fetched }, { cause });
  }
};
