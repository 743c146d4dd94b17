import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessMissing } from '../../core/base/unless-missing.js';

/** File of an experiment's record, in its output directory. */
export const recordName = 'experiment.json';

/** Lock of a run of an experiment, in its output directory. */
export const lockName = '.layerloom-lock';

/**
 * Directories whose lock still has the text of a run of this process that has ended: the system refused to empty it.
 * Other processes take that run for ended when this process is.
 */
export const endedRuns = new Set<string>();

/** True if a directory has the record of an experiment, or anything in its place. @throws LayerloomError READ_FAILED */
export const hasRecord = async (directory: string): Promise<boolean> => {
  const record = join(directory, recordName);
  return (await unlessMissing(record, lstat(record))) !== undefined;
};
