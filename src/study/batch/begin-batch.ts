import { join, resolve } from 'node:path';
import type { InputFiles } from '../../core/engine/input-files.js';
import { checkWritable, existingAbove, makeDirectories } from '../../core/engine/output/durable.js';
import type { Link } from '../../core/engine/output/link.js';
import type { Run } from '../../core/engine/run.js';
import type { StatisticsOptions } from '../../core/measure/analysis/statistics.js';
import { checkSpace } from '../../core/models/checkpoint/files/disk-space.js';
import { ShardStore } from '../store/shard-store.js';
import type { BatchMerge } from './planning/batch-merge.js';
import type { BatchPlan } from './planning/batch-plan.js';
import { checkDevices, checkPlaces, namesOf, openThere } from './planning/check-batch.js';
import { type BatchCost, costOf } from './planning/cost.js';
import { linkedIn, sourcesIn } from './planning/inputs-of.js';
import { keysOfPart, type Part } from './planning/part.js';
import { type Stage, stagesOf } from './planning/stages.js';

interface BeginOptions extends StatisticsOptions {
  readonly out: string;
  readonly store?: string | undefined;
  readonly range?: Part | undefined;
  readonly first?: readonly string[] | undefined;
}

export interface Begun {
  readonly store: ShardStore;
  readonly present: ReadonlySet<string>;
  readonly stages: readonly Stage<BatchMerge>[];
  readonly cost: BatchCost;
  readonly inputs: InputFiles;
}

/**
 * Prepares a batch. If refused, neither changes nor creates a store.
 *
 * @throws LINK_REFUSED, DISK_SPACE, MEMORY_NEEDED, DOWNLOAD_NEEDED, STORE_INVALID, READ_FAILED, WRITE_FAILED,
 * and the codes of `checkPlaces`
 */
export const beginBatch = async (
  plan: BatchPlan<BatchMerge>,
  options: BeginOptions,
  link: Link,
  run: Run,
): Promise<Begun> => {
  const { out, range } = options;
  const directory = resolve(options.store ?? join(out, '.store'));
  await checkPlaces(namesOf(plan), plan.inputs, options);
  await checkWritable(out);
  await checkDevices(plan, directory, out, link, range);
  // The store is incomplete if its creator died.
  const there =
    (await openThere(directory)) === undefined
      ? undefined
      : await ShardStore.open(directory, { create: true });
  let forget: (() => Promise<void>) | undefined;
  if (there !== undefined) {
    await makeDirectories(out);
    forget = await there.noteRegistration(out);
    // Registers the experiment before the first lookup, so that `gc` keeps the shards.
    await there.registerExperiment(out, registration(plan, false));
  }
  try {
    const present = there === undefined ? new Set<string>() : await keysIn(there, plan);
    const mine = keysOfPart(plan, range);
    const stages = stagesOf(plan, (key) => mine.has(key) && !present.has(key), options.first);
    const groups = stages.flatMap((stage) => stage.groups);
    run.fitMemory(groups.flatMap(({ shards }) => shards.flatMap(({ tensors }) => tensors)));
    const cost = costOf(plan, stages, options);
    await checkSpace(await existingAbove(directory), directory, cost.bytesToWrite);
    const inputs = await run.open(plan.inputs, sourcesIn(groups), linkedIn(plan, range));
    const store = there ?? (await newStore(directory, out, plan));
    await store.clearLeftovers();
    return { store, present, stages, cost, inputs };
  } catch (error) {
    await forget?.();
    throw error;
  }
};

const newStore = async (directory: string, out: string, plan: BatchPlan<BatchMerge>): Promise<ShardStore> => {
  await makeDirectories(out);
  const store = await ShardStore.open(directory, { create: true });
  await store.registerExperiment(out, registration(plan, false));
  return store;
};

const keysIn = async (store: ShardStore, plan: BatchPlan<BatchMerge>): Promise<Set<string>> => {
  const present = new Set<string>();
  for (const key of plan.shards.keys()) if ((await store.lookup(key)) !== undefined) present.add(key);
  return present;
};

export const registration = ({ merges }: BatchPlan<BatchMerge>, finished: boolean) => ({
  merges: merges.map(({ merge, shards }) => ({
    path: merge.name,
    keys: shards.filter(({ verbatim }) => verbatim === undefined).map(({ key }) => key),
  })),
  finished,
});
