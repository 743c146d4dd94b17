import { requireOut } from '../core/base/files/require-out.js';
import type { Drawn, DrawOptions } from '../study/pages/report/draw-study.js';

/**
 * Draws pictures of an evaluated experiment for papers, as SVG in the report's style with a CSV of the
 * numbers: layers of swaps, gains, curves, grids, and changes and overlaps from its analysis.
 *
 * @example await draw('./study', { out: './figures' })
 * @throws LayerloomError EXPERIMENT_MISSING, EXPERIMENT_INVALID also without scores, OUTPUT_EXISTS,
 *   WRITE_FAILED
 */
export const draw = async (directory: string, options: DrawOptions): Promise<Drawn> => {
  requireOut(options);
  const { loadScores } = await import('../study/scores/reading/load-scores.js');
  const { drawStudy } = await import('../study/pages/report/draw-study.js');
  return await drawStudy(await loadScores(directory, { responses: false }), options);
};
