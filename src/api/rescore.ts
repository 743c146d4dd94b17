import type { Rescored, RescoreOptions } from '../study/rescoring/rescore-study.js';

/**
 * Scores the stored answers of an experiment again, without a model: by another of the harness's filters or
 * the user's rule, with corrected answers, or without some problems. Returns scores before and after, the
 * verdicts that change, and the problems that decide a verdict. Changes nothing in the experiment.
 *
 * @example await rescore('./study', { filter: 'strict-match' })
 * @param directory of an evaluated experiment
 * @throws LayerloomError EXPERIMENT_MISSING, EXPERIMENT_INVALID, USAGE, INVALID_PARAMETER, DATA_INVALID,
 * READ_FAILED; RESCORE_REFUSED if stored answers do not give the stored scores
 */
export const rescore = async (directory: string, options: RescoreOptions): Promise<Rescored> => {
  const { loadScores } = await import('../study/scores/reading/load-scores.js');
  const { rescoreStudy } = await import('../study/rescoring/rescore-study.js');
  return await rescoreStudy(await loadScores(directory), options);
};
