import { join, resolve } from 'node:path';
import { unlessMissing } from '../../../../core/base/files/unless-missing.js';
import { readSmallFile } from '../../../../core/models/checkpoint/files/small-file.js';
import { jsonOrNone } from '../../../../core/texts/json.js';
import { endedRuns, lockName } from '../../../batch/planning/record-names.js';
import { type Claimant, isClaimant, lifeOf } from '../../../store/claims/claimant.js';

export const isBatchWorking = async (directory: string): Promise<boolean> =>
  (await batchAtWork(directory)) !== undefined;

/**
 * Returns the process that runs a batch, if it can be found.
 *
 * @throws READ_FAILED
 */
export const batchAtWork = async (
  directory: string,
): Promise<(Claimant & { readonly since?: string }) | undefined> => {
  if (endedRuns.has(resolve(directory))) return undefined;
  const lock = join(directory, lockName);
  const text = await unlessMissing(lock, readSmallFile(lock));
  // An empty file means that no process works there. A half-written one is read again later.
  const holder = jsonOrNone(text?.toString() ?? '');
  return isClaimant(holder) && (await lifeOf(holder)) !== 'dead' ? holder : undefined;
};
