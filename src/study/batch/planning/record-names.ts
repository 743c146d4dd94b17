import { lstat } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { unlessMissing } from '../../../core/base/files/unless-missing.js';

export const recordName = 'experiment.json';

export const lockName = '.layerloom-lock';

/** Directories whose lock an ended run could not empty: other processes believe that the run is alive. */
export const endedRuns = new Set<string>();

/**
 * True if a directory has anything with the name of an experiment's record.
 *
 * @throws READ_FAILED
 */
export const hasRecord = async (directory: string): Promise<boolean> => {
  const record = join(directory, recordName);
  return (await unlessMissing(record, lstat(record))) !== undefined;
};

export const experimentExists = (out: string): LayerloomError =>
  new LayerloomError('OUTPUT_EXISTS', {
    out,
    reason: 'holds an experiment',
    remedy: `choose another output, or ${optionName('resume')} to make what is missing of this one`,
  });
