import { LayerloomError } from '../errors.js';
import type { Download } from '../hub/download.js';
import type { DownloadProgress, HubOptions } from '../hub/hub.js';
import type { MissingWeights } from '../plan/missing-weights.js';

/**
 * Fetches weights that a run reads and that are not here. What has come stays if it is interrupted, and is not
 * fetched again.
 *
 * @throws LayerloomError DOWNLOAD_NEEDED unless weights may be fetched; the codes of `bringRanges`
 */
export const bringWeights = async (
  { needs, models }: MissingWeights,
  download: Download,
  options: HubOptions,
): Promise<void> => {
  if (needs.length === 0) return;
  if (download !== true) throw new LayerloomError('DOWNLOAD_NEEDED', { models });
  // Loaded on demand: most runs fetch nothing.
  const { bringRanges } = await import('../hub/bring-ranges.js');
  let fetched = 0;
  const onProgress = (progress: DownloadProgress) => {
    fetched = progress.done;
    options.onProgress?.(progress);
  };
  try {
    await bringRanges(needs, { ...options, onProgress });
  } catch (cause) {
    throw options.signal?.aborted ? new LayerloomError('INTERRUPTED', { fetched }, { cause }) : cause;
  }
};
