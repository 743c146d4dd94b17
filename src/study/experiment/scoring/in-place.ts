import { join } from 'node:path';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { type BatchPlanOptions, planBatch } from '../../batch/planning/batch-plan.js';
import { recordName } from '../../batch/planning/record-names.js';
import { movedIn } from '../../evaluation/scored-contents.js';
import type { EvaluationSettings } from '../../evaluation/settings.js';
import { requirePartitions } from '../file/blocks/partitions.js';
import { type ExperimentMerge, expandExperiment } from '../file/expand.js';
import { readExperimentText } from '../file/read-experiment.js';
import { type ContentsInPlace, contentsInPlace } from '../in-place/contents-in-place.js';
import { type CostInPlace, costInPlace } from '../in-place/cost-in-place.js';
import { type InPlaceOptions, MergesInPlace } from '../in-place/merges-in-place.js';
import { placeMerges } from '../in-place/plan-in-place.js';
import type { ExperimentRecord } from '../record/experiment-record.js';
import { withOptions } from '../recorded-options.js';

/** @throws IN_PLACE_REFUSED if processes cannot exchange weights */
export const checkInPlace = (
  { backend, serve, baseUrls, exchange }: EvaluationSettings,
  separate: boolean,
  directory: string,
): void => {
  const refused = (reason: string) => new LayerloomError('IN_PLACE_REFUSED', { reason, directory });
  if (separate && (serve !== undefined || baseUrls.length === 0))
    throw refused(`with ${optionName('separate')} each model has its own process`);
  if (exchange !== undefined) return;
  if (serve !== undefined || baseUrls.length > 0)
    throw refused('the server of evaluate: loads directories; set exchange: if its weights can be replaced');
  if (backend !== 'hf')
    throw refused(
      `evaluate: has backend: ${backend}, but only hf and servers with exchange: can replace weights`,
    );
};

const refusedRecord = (directory: string, reason: string): LayerloomError =>
  new LayerloomError('EXPERIMENT_INVALID', {
    file: join(directory, recordName),
    reason: `${reason}; record it again: \`${layerloomCommand('batch', 'EXPERIMENT.yaml', '-o', argument(directory), '--resume', '--in-place')}\``,
  });

const recordedMerges = async (
  { options, experiment: text }: ExperimentRecord,
  names: ReadonlySet<string>,
  directory: string,
  keep: boolean,
): Promise<{ readonly merges: readonly ExperimentMerge[]; readonly given: BatchPlanOptions }> => {
  if (options === undefined)
    throw refusedRecord(
      directory,
      'an earlier version wrote it, without the options needed to plan its merges',
    );
  const { directory: from, layout, maxShardSize, checksums, analysis } = options;
  const file = join(directory, recordName);
  const experiment = withOptions(await readExperimentText(text, file, from), options);
  requirePartitions(experiment);
  return {
    merges: expandExperiment(experiment).filter(({ name }) => names.has(name)),
    given: { layout, maxShardSize, checksums, analysis, identitiesOf: movedIn(directory, keep) },
  };
};

/**
 * Plans recorded merges for scoring in place.
 *
 * @throws EXPERIMENT_INVALID if the record lacks options for planning, or models have changed; the codes of
 * `MergesInPlace.open`
 */
export const openInPlace = async (
  record: ExperimentRecord,
  names: ReadonlySet<string>,
  directory: string,
  controls: Pick<InPlaceOptions, 'download' | 'signal'>,
): Promise<MergesInPlace> => {
  const { merges, given } = await recordedMerges(record, names, directory, true);
  const opened = await MergesInPlace.open(merges, { ...given, ...controls, beside: directory });
  const changed = record.merges.find(
    ({ name, weights }) =>
      weights !== undefined && opened.merges.has(name) && opened.merges.get(name) !== weights,
  );
  if (changed === undefined) return opened;
  await opened[Symbol.asyncDispose]();
  throw refusedRecord(directory, `the models of ${changed.name} have changed since the record was written`);
};

export interface PlannedInPlace {
  readonly cost: CostInPlace;
  readonly contents: ContentsInPlace;
}

/** Like `openInPlace`, but reads only headers and writes nothing. */
export const planInPlace = async (
  record: ExperimentRecord,
  names: ReadonlySet<string>,
  directory: string,
): Promise<PlannedInPlace> => {
  const { merges, given } = await recordedMerges(record, names, directory, false);
  const plan = await planBatch(merges, { ...given, assume: true });
  const placed = placeMerges(plan);
  return {
    cost: await costInPlace(plan, directory, placed),
    contents: contentsInPlace(plan, placed, given),
  };
};
