import { requireOut } from '../core/base/files/require-out.js';
import type { ReportOptions, WrittenReport } from '../study/pages/report/write-report.js';

/** Options of `writeReport`. */
export interface WriteReportOptions extends ReportOptions {
  /** CSV files of published figures, shown in tables beside the experiment's figures. */
  summaries?: readonly string[] | undefined;
}

/**
 * Writes an experiment's report as one HTML file that needs no network: tables, pairs, configurations, cost,
 * experts' changes, every merge's layers, scores and answers, and provenance. Without scores, it shows
 * merges, layers and cost.
 *
 * @example await writeReport('./swahili', { out: 'swahili.html' })
 * @param directory of an experiment, as written by a batch
 * @throws LayerloomError EXPERIMENT_MISSING, EXPERIMENT_INVALID, RESULTS_INVALID, SUMMARIES_INVALID,
 *   INVALID_PARAMETER, OUTPUT_EXISTS, READ_FAILED, WRITE_FAILED, VECTORS_INVALID
 */
export const writeReport = async (
  directory: string,
  { summaries = [], ...options }: WriteReportOptions,
): Promise<WrittenReport> => {
  requireOut(options);
  const { writeReportOf } = await import('../study/pages/report/write-report.js');
  const { layouts } = await import('../study/paper/layouts.js');
  const { loadScores } = await import('../study/scores/reading/load-scores.js');
  const { readSummaries } = await import('../study/scores/reading/read-summaries.js');
  const experiment = await loadScores(directory);
  const published = await Promise.all(summaries.map(readSummaries));
  return await writeReportOf(
    { ...experiment, summaries: [...experiment.summaries, ...published.flat()] },
    layouts,
    options,
  );
};
