import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { linkBelow } from '../../../../core/base/files/own-directory.js';
import { namesIn } from '../../../../core/base/files/unless-missing.js';
import { makeDirectories } from '../../../../core/engine/output/durable.js';
import { evaluationsName, ResultFiles } from '../../../evaluation/result-files.js';
import { acquire, type ClaimFile, examine, staleAfterMs } from '../../../store/claims/claim-file.js';
import { clockAt } from '../../../store/claims/clock.js';

const folders = ['.claims', '.runs', '.views', 'failures', 'logs', 'runs', 'tasks'];

/**
 * Refuses folders that are links: an experiment from elsewhere may link anywhere.
 *
 * @throws WRITE_FAILED
 */
export const checkEvaluationFolders = (experiment: string): void => {
  for (const folder of folders) {
    const path = join(experiment, evaluationsName, folder);
    const reason = linkBelow(experiment, path);
    if (reason !== undefined) throw new LayerloomError('WRITE_FAILED', { file: path, reason });
  }
};

const clockName = 'clock';

/**
 * Claims weights, or a folder of task files, against other evaluating processes.
 *
 * @param directory `evaluations/` of the experiment
 * @returns undefined if another process holds the claim
 * @throws WRITE_FAILED
 */
export const claimIn = async (
  directory: string,
  name: string,
  about: Readonly<Record<string, unknown>> = {},
): Promise<ClaimFile | undefined> => {
  const claims = join(directory, '.claims');
  await makeDirectories(claims, true);
  return await acquire(join(claims, name), clockAt(join(claims, clockName)), about);
};

export const taskFolder = '.tasks-';

/** Removes claims, task files and partial results of dead evaluations, but no answers. Ignores errors. */
export const removeLeftovers = async (experiment: string): Promise<void> => {
  const results = new ResultFiles(experiment);
  const { directory } = results;
  const claims = join(directory, '.claims');
  const now = clockAt(join(claims, clockName));
  const each = (folder: string, work: (name: string) => Promise<void>) =>
    unlessHindered(async () => {
      for (const name of await namesIn(folder)) await unlessHindered(() => work(name));
    });
  await each(claims, async (name) => {
    if (name === clockName) return;
    const { state } = await examine(join(claims, name), now);
    if (state === 'dead') await (await claimIn(directory, name))?.release();
  });
  await each(directory, async (name) => {
    if (!name.startsWith(taskFolder)) return;
    const claim = await claimIn(directory, name);
    if (claim === undefined) return;
    // A folder exists only while its claim does.
    await rm(join(directory, name), { recursive: true, force: true });
    await claim.release();
  });
  await unlessHindered(async () => results.removePartials(async () => (await now()) - staleAfterMs));
};

const unlessHindered = (work: () => Promise<void>): Promise<void> => work().catch(() => undefined);
