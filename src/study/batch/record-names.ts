import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { unlessMissing } from '../../core/base/unless-missing.js';

/** An experiment's record, in its output directory. */
export const recordName = 'experiment.json';

/** Lock of a run, in its output directory. */
export const lockName = '.layerloom-lock';

/**
 * Directories whose lock still names a run of this process that has ended, since emptying the lock failed.
 * Other processes consider that run alive until this process ends.
 */
export const endedRuns = new Set<string>();

/**
 * True if a directory has an experiment's record, or anything of that name.
 *
 * @throws LayerloomError READ_FAILED
 */
export const hasRecord = async (directory: string): Promise<boolean> => {
  const record = join(directory, recordName);
  return (await unlessMissing(record, lstat(record))) !== undefined;
};
