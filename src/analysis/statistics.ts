import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileIdentity } from '../checkpoint/checkpoint.js';
import type { ReduceOptions } from '../engine/reduce.js';
import { LayerloomError } from '../errors.js';
import type { NeededStatistics, TaskVectorStatistics } from '../methods/method.js';
import { openModels } from '../plan/models.js';
import { type MavVectors, vectorsName } from './analysis.js';
import { computeTaskVectors } from './task-vectors.js';
import { readVectors } from './vectors-file.js';

export interface StatisticsOptions extends ReduceOptions {
  /** A directory that `analyze` wrote, from whose `NAME.mav.safetensors` the task vectors are read instead of weights. */
  analysis?: string | undefined;
}

/**
 * The task vectors that a method must know: from a saved analysis where one is given, else computed, as a first stage of the merge.
 *
 * @throws LayerloomError ANALYSIS_MISMATCH where a saved analysis is of other files; the codes of `computeTaskVectors`
 */
export const gatherStatistics = async (
  needed: NeededStatistics,
  { analysis, ...options }: StatisticsOptions,
): Promise<readonly TaskVectorStatistics[]> => {
  const { base, experts, rows } = needed;
  if (analysis === undefined)
    return (await computeTaskVectors(base, experts, { rows, threshold: 0 }, { ...options, pairs: false }))
      .experts;
  const [openedBase, ...opened] = await openModels([
    { role: 'base', model: base },
    ...experts.map((model) => ({ role: 'expert', model })),
  ]);
  return await Promise.all(
    opened.map(async ({ checkpoint }) => {
      const file = join(analysis, vectorsName(checkpoint.name));
      await access(file).catch((cause: unknown) => {
        throw new LayerloomError('ANALYSIS_MISMATCH', { file, reason: 'is not there' }, { cause });
      });
      const mav = await readVectors(file);
      const mismatch = mismatchOf(mav, rows, openedBase?.checkpoint.files ?? [], checkpoint.files);
      if (mismatch !== undefined) throw new LayerloomError('ANALYSIS_MISMATCH', { file, reason: mismatch });
      return mav;
    }),
  );
};

const same = (a: readonly FileIdentity[], b: readonly FileIdentity[]): boolean => {
  const keys = (files: readonly FileIdentity[]) =>
    files.map(({ bytes, mtimeNs, header }) => `${bytes} ${mtimeNs} ${header}`).sort();
  return keys(a).join() === keys(b).join();
};

const mismatchOf = (
  mav: MavVectors,
  rows: string,
  base: readonly FileIdentity[],
  expert: readonly FileIdentity[],
): string | undefined => {
  if (mav.rows !== rows) return `is by ${mav.rows} rows, and ${rows} rows are needed`;
  if (!same(mav.base.files, base)) return `was taken from another base, or the base was written since`;
  if (!same(mav.expert.files, expert)) return `is of another expert, or the expert was written since`;
  return undefined;
};
