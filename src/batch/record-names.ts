/** File of an experiment's record, in its output directory. */
export const recordName = 'experiment.json';

/** Lock of a run of an experiment, in its output directory. */
export const lockName = '.layerloom-lock';
