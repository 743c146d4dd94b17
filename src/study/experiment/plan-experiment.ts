import { resolve } from 'node:path';
import { LayerloomError } from '../../core/base/errors/errors.js';
import type { PlannedDownload } from '../../core/plan/plan.js';
import { missingWeights } from '../../core/plan/reports/missing-weights.js';
import { type BatchPlan, narrowed, planBatch } from '../batch/planning/batch-plan.js';
import { checkBatch, type DiskNeed, diskNeedOf } from '../batch/planning/check-batch.js';
import { type BatchCost, costOf } from '../batch/planning/cost.js';
import { linkedIn, sourcesIn } from '../batch/planning/inputs-of.js';
import { type Stage, stagesOf } from '../batch/planning/stages.js';
import { movedIn } from '../evaluation/scored-contents.js';
import type { ShardStore } from '../store/shard-store.js';
import { stampOf } from './expected.js';
import type { ExperimentInput } from './file/blocks/experiment-block.js';
import type { ExperimentMerge } from './file/expand.js';
import type { Experiment } from './file/read-experiment.js';
import { type CostInPlace, costInPlace } from './in-place/cost-in-place.js';
import { type MeasuredMerging, measuredMerging, mergingSeconds } from './measured-merging.js';
import {
  checkPlacesOf,
  madeIn,
  type PlanExperimentOptions,
  storeOf,
  withExperiment,
  writtenBy,
} from './open-experiment.js';
import { formerRecord } from './record/experiment-record.js';

interface ExperimentPlan {
  readonly plan: BatchPlan<ExperimentMerge>;
  /** Merges in the order in which they finish. */
  readonly stages: readonly Stage<ExperimentMerge>[];
  readonly cost: BatchCost;
  /** Weights to fetch from hubs; may be 0 bytes. */
  readonly download: PlannedDownload;
  readonly experiment: Experiment;
  /** Stamp of the jobs, for `expect`. */
  readonly stamp: string;
  readonly disk: DiskNeed;
  /** Seconds at the rate of an earlier run over the directory or store; null without such a run. */
  readonly merging: { readonly seconds: number; readonly by: MeasuredMerging } | null;
  /** Errors that an option would avoid: existing output, missing weights. */
  readonly wanted: readonly LayerloomError[];
  readonly inPlace: CostInPlace;
}

/**
 * Plans an experiment: the shards of each merge, and the cost; if `out` has a record, the remaining cost,
 * else that of an empty store. Reads headers and a few sampled blocks of each file. Writes nothing. With
 * `out`, also checks the output.
 *
 * @example const { cost } = await planExperiment('swahili.yaml', {})
 * @throws RECIPE_INVALID, the codes of checkpoints that cannot be opened or merged, and those that
 *   `runExperiment` throws before its first weight
 */
export const planExperiment = (
  input: ExperimentInput | string,
  options: PlanExperimentOptions,
): Promise<ExperimentPlan> =>
  withExperiment(input, options, async ({ experiment, merges, batch }) => {
    const { out } = options;
    const before = out === undefined ? undefined : await formerRecord(resolve(out));
    const store = await storeOf(options);
    const plan = await planBatch(merges, {
      ...batch,
      assume: true,
      ...(out === undefined
        ? {}
        : { identitiesOf: movedIn(out, false), made: madeIn(resolve(out), before, store, 'expect') }),
    });
    if (out !== undefined) await checkPlacesOf(experiment, merges, { ...options, out });
    const isWritten = writtenBy(options, merges, before);
    const written = narrowed(plan, isWritten);
    const present = await presentIn(written, store);
    // A resumed experiment costs only its missing merges.
    const stages = stagesOf(written, (key) => before === undefined || !present.has(key), options.first);
    const groups = stages.flatMap((stage) => stage.groups);
    const missing = await missingWeights(plan.inputs, sourcesIn(groups), linkedIn(written));
    const checked = await checkBatch(written, options, present);
    const { wanted } = checked;
    if (missing.needs.length > 0 && !options.download)
      wanted.push(new LayerloomError('DOWNLOAD_NEEDED', { models: missing.models }));
    const [cost, stamp] = [costOf(written, stages, options), stampOf(experiment.text)];
    const { bytes, models } = missing;
    const disk = await diskNeedOf(written, options, present);
    const inPlace = await costInPlace(
      narrowed(plan, (merge) => !isWritten(merge)),
      out ?? '.',
    );
    const by = await measuredMerging(out ?? '.', options.store);
    const merging = by === undefined ? null : { seconds: mergingSeconds(cost, disk.shards, by), by };
    return {
      ...{ stages, experiment, stamp, cost, disk, merging, wanted, inPlace },
      plan: { ...plan, warnings: [...plan.warnings, ...checked.warnings] },
      download: { bytes, models },
    };
  });

const presentIn = async (
  { merges, shards }: BatchPlan<ExperimentMerge>,
  store: ShardStore | undefined,
): Promise<ReadonlySet<string>> => {
  const present = new Set<string>();
  if (store === undefined) return present;
  // A dry run computes no statistics, so merges that need statistics have placeholder keys.
  const certain = merges.filter(({ basis, isMade }) => basis === undefined || isMade);
  for (const key of new Set(certain.flatMap((merge) => merge.shards.map(({ key }) => key))))
    if (shards.has(key) && (await store.expect(key)) !== undefined) present.add(key);
  return present;
};
