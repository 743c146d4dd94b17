import { requireOut } from '../core/base/files/require-out.js';
import type { Bundle, BundleOptions } from '../study/bundle/write-bundle.js';

/**
 * Writes a study as one tar file without weights: record, results, answers, analyses, and each merge's
 * recipe, statement and card. The same study gives the same bytes. `rebuild` unpacks it.
 *
 * @example await bundle('./study', { out: 'study.tar' })
 * @param directory of an experiment, as written by a batch
 * @throws LayerloomError EXPERIMENT_MISSING, EXPERIMENT_INVALID; BUNDLE_REFUSED for a link out of the study;
 *   OUTPUT_EXISTS, READ_FAILED, WRITE_FAILED
 */
export const bundle = async (directory: string, options: BundleOptions): Promise<Bundle> => {
  requireOut(options);
  const { writeBundle } = await import('../study/bundle/write-bundle.js');
  return await writeBundle(directory, options);
};
