import { join } from 'node:path';
import { LayerloomError } from '../../base/errors.js';
import { linkBelow } from '../../base/own-directory.js';
import { evaluationsName } from '../../evaluation/result-files.js';

/** Folders of an experiment in which an evaluation removes files. */
const folders = ['.claims', '.runs', 'failures', 'logs', 'runs', 'tasks'];

/**
 * Checks that files which an evaluation replaces and removes are the experiment's: its folder may be somebody else's,
 * with links to any place.
 *
 * @throws LayerloomError WRITE_FAILED
 */
export const checkEvaluationFolders = (experiment: string): void => {
  for (const folder of folders) {
    const path = join(experiment, evaluationsName, folder);
    const reason = linkBelow(experiment, path);
    if (reason !== undefined) throw new LayerloomError('WRITE_FAILED', { file: path, reason });
  }
};
