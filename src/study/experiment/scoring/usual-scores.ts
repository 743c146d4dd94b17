/** Default directory for results of models without an experiment. */
export const usualScores = 'scores';
