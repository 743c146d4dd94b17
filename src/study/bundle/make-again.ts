import { rm } from 'node:fs/promises';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { groupBy } from '../../core/base/errors/lookup.js';
import { writing } from '../../core/base/files/writing.js';
import type { RunControls } from '../../core/engine/run.js';
import { parseAddress } from '../../core/models/address/address.js';
import { readModel } from '../../core/models/reading/read-model.js';
import { bringModels } from '../../core/models/sources/bring-models.js';
import { modelsIn } from '../../core/plan/compile/inputs/opened-inputs.js';
import { settle } from '../../core/settle/settle.js';
import { isRefusal } from '../batch/planning/refusals.js';
import type { ExperimentInput } from '../experiment/file/blocks/experiment-block.js';
import { requirePartitions } from '../experiment/file/blocks/partitions.js';
import { expandExperiment } from '../experiment/file/expand.js';
import { parseExperiment } from '../experiment/file/read-experiment.js';
import type { ExperimentRecord } from '../experiment/record/experiment-record.js';
import { runExperiment } from '../experiment/run-experiment.js';
import { Comparing, isComplete, type MergeFolders, scoredSums } from './compare-merge.js';

/** Merge whose bytes differ from its record. */
export interface OtherMerge {
  readonly merge: string;
  readonly reason: string;
}

/** Comparison of remade merges with their records. */
export interface MadeAgain {
  /** Merges whose every file has the recorded SHA-256. */
  readonly same: number;
  /** Merges among `same` that an earlier rebuild made. */
  readonly kept: number;
  readonly different: readonly OtherMerge[];
  /** Merges that could not be made here, for instance without an expert. */
  readonly failed: readonly OtherMerge[];
}

/** Recorded merges: the merges that can be made here, and the reasons why others cannot. */
export interface Makeable {
  readonly record: ExperimentRecord;
  readonly input: ExperimentInput;
  readonly experts: string;
  /** Paths of merges in the study. */
  readonly paths: ReadonlyMap<string, string>;
  readonly failed: readonly OtherMerge[];
}

/**
 * Tries to open each recorded merge's models. Writes nothing in the study.
 *
 * @throws RECIPE_INVALID, READ_FAILED, PARTITION_INVALID, INTERRUPTED
 */
export const findMakeable = async (
  record: ExperimentRecord,
  input: ExperimentInput,
  experts: string,
  controls: RunControls,
): Promise<Makeable> => {
  const experiment = await parseExperiment(input, { directory: experts });
  const recipes = new Map(expandExperiment(experiment).map(({ name, recipe }) => [name, recipe]));
  requirePartitions(experiment);
  const opened = new Map<string, Promise<unknown>>();
  const open = async (model: string) => {
    await bringModels([model], controls);
    await readModel(await parseAddress(model));
  };
  const paths = new Map<string, string>();
  const failed: OtherMerge[] = [];
  for (const { name, path, state } of record.merges) {
    if (state !== 'done') continue;
    const recipe = recipes.get(name);
    try {
      if (recipe === undefined) throw new NoSuchMerge();
      for (const model of modelsIn(await settle(recipe))) {
        if (!opened.has(model)) opened.set(model, open(model));
        await opened.get(model);
      }
      paths.set(name, path);
    } catch (error) {
      if (!isRefusal(error) && !(error instanceof NoSuchMerge)) throw error;
      failed.push({ merge: name, reason: error.message });
    }
  }
  return { record, input, experts, paths, failed };
};

class NoSuchMerge extends Error {
  override readonly message = 'the experiment has no such merge';
}

/**
 * Remakes incomplete merges of a study. Moves a merge's files into the study if they have the recorded
 * SHA-256, and replaces no file. Removes `work` at the end; an interrupted call leaves it for the next.
 *
 * @throws as `runExperiment`
 */
export const makeAgain = async (
  { record, input, experts, paths, failed }: Makeable,
  folders: MergeFolders,
  controls: RunControls,
): Promise<MadeAgain> => {
  const { bundled, study, work } = folders;
  const kept = new Set<string>();
  for (const [name, path] of paths) if (await isComplete(folders, path)) kept.add(name);
  const scored = await scoredSums(bundled, record.references);
  const reasons = new Map<string, string | undefined>();
  const unmade = new Map<string, string>();
  const { directory: _directory, analysis: _analysis, ...recorded } = record.options ?? { directory: '' };
  const run = () =>
    runExperiment(input, {
      ...recorded,
      ...controls,
      out: work,
      directory: experts,
      resume: true,
      only: ({ name }) => paths.has(name) && !kept.has(name),
      onMerge: async ({ name, state, error }) => {
        const path = paths.get(name);
        if (path === undefined) return;
        if (state === 'done') reasons.set(name, await new Comparing(folders, path, scored).run());
        else unmade.set(name, error?.message ?? `it is ${state}`);
      },
    });
  if (kept.size < paths.size)
    await run().catch((error: unknown) => {
      if (!(error instanceof LayerloomError)) throw error;
      // `keptIn` names the outer folder, because the user resumes that.
      const { merge, keptIn } = error.context;
      if (merge === undefined) throw keptIn === undefined ? error : error.with({ keptIn: study });
      if (!isRefusal(error)) throw error;
      // If every merge is refused, the batch throws the first refusal.
      for (const name of paths.keys())
        if (!kept.has(name)) unmade.set(name, name === merge ? error.message : `refused, as ${merge} is`);
    });
  await writing(work, () => rm(work, { recursive: true, force: true }));
  const found = [...paths.keys()].flatMap((merge) =>
    kept.has(merge) ? [] : [{ merge, made: reasons.has(merge), reason: reasons.get(merge) }],
  );
  const of = groupBy(found, ({ made, reason }) =>
    !made ? 'failed' : reason === undefined ? 'same' : 'different',
  );
  return {
    same: kept.size + (of.get('same')?.length ?? 0),
    kept: kept.size,
    different: (of.get('different') ?? []).map(({ merge, reason = '' }) => ({ merge, reason })),
    failed: [
      ...failed,
      ...(of.get('failed') ?? []).map(({ merge }) => ({ merge, reason: unmade.get(merge) ?? 'not made' })),
    ],
  };
};
