/** The directory of the results of models without an experiment, unless another is named. */
export const usualScores = 'scores';
