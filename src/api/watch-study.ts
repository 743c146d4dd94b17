import { requireOut } from '../core/base/files/require-out.js';
import type { WatchedStudy, WatchStudyOptions } from '../study/pages/study/watch-study.js';

/**
 * Writes a running study's page atomically every few seconds: training runs, merges, scores, latest errors,
 * time left. An open page reloads itself. When the signal aborts, writes a last page that does not reload.
 *
 * @example await watchStudy('./study', { out: 'now.html', signal: AbortSignal.timeout(3_600_000) })
 * @param directory the experiment's; a batch may begin in it later
 * @throws LayerloomError EXPERIMENT_MISSING, TRAINING_INVALID, INVALID_PARAMETER, OUTPUT_EXISTS, WRITE_FAILED
 */
export const watchStudy = async (directory: string, options: WatchStudyOptions): Promise<WatchedStudy> => {
  requireOut(options);
  const { watchStudyOf } = await import('../study/pages/study/watch-study.js');
  return await watchStudyOf(directory, options);
};
