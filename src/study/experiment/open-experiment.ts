import { join, resolve } from 'node:path';
import { LayerloomError } from '../../core/base/errors/errors.js';
import { invalidParameter } from '../../core/base/errors/invalid-parameter.js';
import { checkApartFrom } from '../../core/engine/output/apart.js';
import { matches } from '../../core/methods/framework/match-names.js';
import { withPlace } from '../../core/methods/recipe/read-recipe.js';
import { isAssembled } from '../batch/assemble.js';
import { checkPlaces, openThere } from '../batch/planning/check-batch.js';
import type { BatchOptions } from '../batch/run-batch.js';
import { shardsOfMerge } from '../store/files/weights.js';
import type { ShardStore } from '../store/shard-store.js';
import { checkExpected } from './expected.js';
import type { ExperimentInput } from './file/blocks/experiment-block.js';
import { requirePartitions } from './file/blocks/partitions.js';
import { type ExperimentMerge, expandExperiment } from './file/expand.js';
import { missingReferences } from './file/missing-references.js';
import { type Experiment, parseExperiment, readExperiment } from './file/read-experiment.js';
import type { ExperimentRecord } from './record/experiment-record.js';
import { withOptions } from './recorded-options.js';

/** Options of `runExperiment`. */
export interface ExperimentOptions extends Omit<BatchOptions, 'write'> {
  /** Continue an existing experiment: keep complete merges, and replace other merges that layerloom wrote. */
  resume?: boolean | undefined;
  /** Same as `resume`. */
  force?: boolean | undefined;
  /** Merges to make and record, as if the experiment had no others. Default: all. */
  only?: ((merge: ExperimentMerge) => boolean) | undefined;
  /**
   * Recorded merges to write: patterns of names, in which `*` stands for any text; may be empty. Merges that
   * an earlier run wrote stay up to date. Others remain pending, and can be scored in place. Default: all.
   */
  write?: readonly string[] | undefined;
  /** Overrides the experiment's tokenizer source: `auto`, `strict`, … */
  tokenizer?: string | undefined;
  /** Allow NaN and infinity in every merge, instead of refusing them with NON_FINITE. */
  allowNonFinite?: boolean | undefined;
  /** Base of relative paths, for an experiment given as an object. */
  directory?: string | undefined;
  /** Stamp of this run's jobs, from `planExperiment`: refuses another version or experiment. */
  expect?: string | undefined;
}

/** `ExperimentOptions` for a plan, which needs no output. */
export type PlanExperimentOptions = Omit<ExperimentOptions, 'out'> & { readonly out?: string | undefined };

interface OpenedExperiment<O> {
  readonly experiment: Experiment;
  readonly merges: readonly ExperimentMerge[];
  readonly batch: Omit<O, 'write'> &
    Pick<BatchOptions, 'layout' | 'maxShardSize'> & { readonly warnings: readonly string[] };
}

/** Opens an experiment and runs `work`. Adds positions in the experiment's file to errors. */
export const withExperiment = async <O extends PlanExperimentOptions, T>(
  input: ExperimentInput | string,
  options: O,
  work: (opened: OpenedExperiment<O>) => Promise<T>,
): Promise<T> => {
  const { directory, expect, only = () => true } = options;
  const read =
    typeof input === 'string' ? await readExperiment(input) : await parseExperiment(input, { directory });
  if (expect !== undefined) checkExpected(expect, read.text, read.file ?? 'the experiment');
  const experiment = withOptions(read, options);
  try {
    const merges = expandExperiment(experiment).filter(only);
    requirePartitions(experiment);
    const { layout = experiment.layout, maxShardSize = experiment.maxShardSize } = options;
    const { write: _write, ...others } = options;
    const warnings = await missingReferences(experiment);
    return await work({ experiment, merges, batch: { ...others, layout, maxShardSize, warnings } });
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    const { merge, place } = error.context;
    // A merge's error has a path in the merge's own recipe.
    throw merge !== undefined || place !== undefined ? error : withPlace(error, experiment);
  }
};

/**
 * Checks that output and store are apart from the experiment's models, before a directory or lock is made.
 */
export const checkPlacesOf = async (
  experiment: Experiment,
  merges: readonly ExperimentMerge[],
  options: Pick<ExperimentOptions, 'out' | 'store'>,
): Promise<void> => {
  const { out, store = out } = options;
  for (const place of new Set([out, store])) await checkApartFrom(place, modelsOf(experiment));
  await checkPlaces(
    merges.map(({ name }) => name),
    [],
    options,
  );
};

const modelsOf = ({ base, tasks, languages, runs, furtherReferences }: Experiment): string[] => [
  ...(base === undefined ? [] : [base]),
  ...[tasks, ...languages.values()].flatMap((models) => [...models.values()]),
  ...[...runs.values(), ...furtherReferences].map(({ path }) => path),
];

/**
 * Returns a predicate for merges to write: those that match a pattern or are already written.
 *
 * @throws INVALID_PARAMETER if a pattern matches no merge
 */
export const writtenBy = (
  { write }: Pick<ExperimentOptions, 'write'>,
  merges: readonly ExperimentMerge[],
  before: ExperimentRecord | undefined,
): NonNullable<BatchOptions['write']> => {
  if (write === undefined) return () => true;
  const lost = write.find((pattern) => !merges.some(({ name }) => matches(name, pattern)));
  if (lost !== undefined)
    throw invalidParameter('write', lost, `names of merges; * stands for any text, as in ${merges[0]?.name}`);
  const there = new Set(before?.merges.flatMap(({ name, state }) => (state === 'done' ? [name] : [])));
  return ({ name }) => there.has(name) || write.some((pattern) => matches(name, pattern));
};

export const storeOf = async ({
  out,
  store,
}: Pick<BatchOptions, 'store'> & { readonly out?: string | undefined }): Promise<ShardStore | undefined> =>
  out === undefined && store === undefined
    ? undefined
    : await openThere(resolve(store ?? join(out ?? '.', '.store')));

/**
 * Returns a function that finds shards of an earlier run, for merges that depend on statistics.
 *
 * @param look finds a shard in the store
 */
export const madeIn =
  (
    out: string,
    before: ExperimentRecord | undefined,
    store: ShardStore | undefined,
    look: 'lookup' | 'expect',
  ): NonNullable<BatchOptions['made']> =>
  async (name, basis, shards) => {
    const recorded = before?.merges.find((merge) => merge.path === name);
    if (store === undefined || recorded?.state !== 'done' || recorded.basis !== basis) return undefined;
    const directory = join(out, name);
    const keys = new Map((await shardsOfMerge(directory))?.map(({ file, key }) => [file, key]));
    const found = shards.flatMap((shard) => {
      const key = keys.get(shard.file);
      return key === undefined ? [] : [{ ...shard, key }];
    });
    if (found.length < shards.length || !(await isAssembled(directory, found, store))) return undefined;
    for (const { key, verbatim } of found)
      if (verbatim === undefined && (await store[look](key)) === undefined) return undefined;
    return found;
  };
