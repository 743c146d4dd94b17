import { LayerloomError } from '../../../../core/base/errors/errors.js';
import { parseAddress } from '../../../../core/models/address/address.js';
import { openModelOrAdapter } from '../../../../core/plan/compile/inputs/models.js';
import { modelsIn } from '../../../../core/plan/compile/inputs/opened-inputs.js';
import { settle } from '../../../../core/settle/settle.js';
import { recordName } from '../../../batch/planning/record-names.js';
import type { ScoredContents } from '../../../evaluation/scored-contents.js';
import { type ExperimentMerge, expandExperiment } from '../../file/expand.js';
import { readExperimentText } from '../../file/read-experiment.js';
import type { ExperimentRecord } from '../../record/experiment-record.js';
import { withOptions } from '../../recorded-options.js';

/**
 * Records the contents of references and merge inputs, so that moved models keep their results, merges and
 * shards. Skips models that are not on this machine.
 *
 * @throws WRITE_FAILED, INTERRUPTED
 */
export const noteContents = async (
  record: ExperimentRecord,
  directory: string,
  contents: ScoredContents,
  signal: AbortSignal | undefined,
): Promise<void> => {
  const models = new Set([
    ...record.references.map(({ model }) => model),
    ...(await mergedModels(record, directory)),
  ]);
  for (const model of models)
    try {
      const { checkpoint } = await openModelOrAdapter(await parseAddress(model));
      await contents.note(checkpoint.files, signal);
    } catch (error) {
      if (!(error instanceof LayerloomError) || ['WRITE_FAILED', 'INTERRUPTED'].includes(error.code))
        throw error;
      // Scoring or merging the model reports the error.
    }
};

/** Returns the models that the record's merges read; empty if the record lacks options for planning. */
const mergedModels = async (
  { experiment: text, options }: ExperimentRecord,
  directory: string,
): Promise<string[]> => {
  if (options === undefined) return [];
  try {
    const experiment = await readExperimentText(text, `${directory}/${recordName}`, options.directory);
    const merges = expandExperiment(withOptions(experiment, options));
    const recipes = await Promise.all(distinct(merges).map(({ recipe }) => settle(recipe)));
    return [...modelsIn(...recipes)];
  } catch (error) {
    if (error instanceof LayerloomError) return [];
    throw error;
  }
};

/** Keeps one merge per entry, method and pair; further merges read the same models. */
const distinct = (merges: readonly ExperimentMerge[]): ExperimentMerge[] => [
  ...new Map(
    merges.map((merge) => [
      JSON.stringify([merge.entry, merge.method, merge.task, merge.languageExpert, merge.language]),
      merge,
    ]),
  ).values(),
];
