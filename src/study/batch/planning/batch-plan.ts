import { createHash } from 'node:crypto';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { groupBy, itemAt, valueAt } from '../../../core/base/errors/lookup.js';
import { doubtsOfBases } from '../../../core/measure/analysis/base-concerns.js';
import type { StatisticsOptions } from '../../../core/measure/analysis/statistics.js';
import { invalidSetting } from '../../../core/methods/framework/declaration/settings.js';
import { allRecipes, type Recipe, refuseLayout } from '../../../core/methods/recipe/recipe.js';
import { bringModels } from '../../../core/models/sources/bring-models.js';
import { compose } from '../../../core/plan/compile/compose.js';
import type { StatisticsByRecipe } from '../../../core/plan/compile/composed.js';
import { plannedInput } from '../../../core/plan/compile/inputs/models.js';
import {
  inputsOf,
  modelsIn,
  type OpenedInputs,
  observeInputs,
  openInputs,
} from '../../../core/plan/compile/inputs/opened-inputs.js';
import {
  inputFiles,
  type PlanOptions,
  parseLayout,
  planRecipe,
} from '../../../core/plan/compile/plan-recipe.js';
import { checkSideFiles } from '../../../core/plan/compile/side-files.js';
import type { MergePlan, PlannedInput } from '../../../core/plan/plan.js';
import type { Identify } from '../../../core/plan/shard-key.js';
import { settle } from '../../../core/settle/settle.js';
import { idByPath } from '../../../core/tensor/stored-tensor.js';
import type { IdentitiesOf } from '../../store/files/weights.js';
import type { BatchMerge, ParsedMerge, RefusedMerge } from './batch-merge.js';
import { type DistinctShard, groupShards, type ShardGroup } from './groups.js';
import { measureEach, measureTogether, needsStatistics } from './measure-merges.js';
import { type MergeShard, MergeShards } from './merge-shards.js';
import { named, Refusals } from './refusals.js';

/** Merge with its recipe and shards. */
export interface PlannedMerge<M extends BatchMerge> {
  readonly merge: M;
  readonly recipe: Recipe;
  readonly shards: readonly MergeShard[];
  readonly bytes: number;
  /**
   * SHA-256 of the recipe and the inputs' identities, for merges that need statistics of whole models. It
   * identifies an earlier run's merge without measuring again.
   */
  readonly basis?: string;
  /** True if an earlier run made the merge. Then nothing was measured, and only shard keys are known. */
  readonly isMade?: boolean;
}

/** Distinct shards of many merges. */
export interface BatchPlan<M extends BatchMerge> {
  readonly merges: readonly PlannedMerge<M>[];
  /** Merges that cannot be made; all other merges are planned. */
  readonly refused: readonly RefusedMerge<M>[];
  /** Distinct shards by key, in order of merges, without input files. */
  readonly shards: ReadonlyMap<string, DistinctShard>;
  readonly inputs: readonly PlannedInput[];
  readonly opened: OpenedInputs;
  /** Identifies inputs for shard keys. */
  readonly identify: Identify;
  readonly bytesPlain: number;
  readonly bytesDistinct: number;
  readonly bytesVerbatim: number;
  readonly statistics: StatisticsByRecipe;
  readonly warnings: readonly string[];
}

export interface BatchPlanOptions extends PlanOptions, StatisticsOptions {
  /**
   * Plan without reading weights. Placeholders replace statistics of whole models, so sizes are right but coefficients
   * are wrong: never execute such a plan.
   */
  assume?: boolean | undefined;
  /** Identify inputs by the SHA-256 of all bytes, not by size, time, header and samples. */
  checksums?: boolean | undefined;
  /**
   * Returns the recorded identities of a checkpoint's files, so that moved files keep theirs. Default:
   * present identities. Unused with `checksums`.
   */
  identitiesOf?: IdentitiesOf | undefined;
  /** Returns the shards that an earlier run made for a merge with this `basis`. */
  made?:
    | ((
        name: string,
        basis: string,
        shards: readonly MergeShard[],
      ) => Promise<readonly MergeShard[] | undefined>)
    | undefined;
  warnings?: readonly string[] | undefined;
}

/**
 * Plans merges. Opens every checkpoint once, and identifies shards by a hash of formulas and inputs, so that
 * merges share them.
 *
 * @throws the codes of recipes and checkpoints, with the merge in the details. Errors that concern one merge,
 * such as incompatible models, throw only if every merge is refused; otherwise they are in `refused`.
 */
export const planBatch = async <M extends BatchMerge>(
  merges: readonly M[],
  options: BatchPlanOptions,
): Promise<BatchPlan<M>> => {
  const layout = parseLayout(options);
  const parsed: ParsedMerge<M>[] = [];
  for (const merge of merges) {
    const recipe = await settle(merge.recipe)
      .then(forBatch)
      .catch((error: unknown) => {
        throw named(merge, error);
      });
    parsed.push({ merge, recipe });
  }
  const fetched = await bringModels(modelsIn(...parsed.map(({ recipe }) => recipe)), options);
  const headers = await openAll(parsed);
  const refusals = new Refusals(parsed);
  // Finds refused merges before weights are read.
  const assumed = await measureEach(parsed, refusals, { ...options, assume: true });
  await checkModels(parsed, headers, assumed, refusals);
  const opened = await observeInputs(headers, options.checksums ? 'bytes' : 'samples');
  const identities = await identitiesIn(opened, options);
  const identifySource: Identify = ({ input, file }) => itemAt(itemAt(identities, input), file);
  const inputs = opened.checkpoints.map(plannedInput);
  const shards = new MergeShards({
    layout,
    inputFileOf: inputFiles(opened.checkpoints),
    identify: identifySource,
    inputs,
    session: opened.session,
  });
  const warnings = new Set<string>([...(options.warnings ?? []), ...fetched]);
  const bases = new Map<ParsedMerge<M>, string>();
  const made = new Map<ParsedMerge<M>, readonly MergeShard[]>();
  const keysOfMade = new Map<string, DistinctShard>();
  for (const of of refusals.accepted().filter(({ recipe }) => needsStatistics(recipe)))
    await refusals.during(of, async () => {
      const basis = basisOf(of, opened, identities, options);
      bases.set(of, basis);
      if (options.made === undefined) return;
      const alone = shards.alone(await compose(of.recipe, opened, assumed));
      const found = await options.made(of.merge.name, basis, alone.shards);
      if (found === undefined) return;
      made.set(of, found);
      for (const [index, { key, verbatim }] of found.entries())
        if (verbatim === undefined)
          keysOfMade.set(key, { ...valueAt(alone.distinct, itemAt(alone.shards, index).key), key });
    });
  const toMeasure = refusals.accepted().filter((of) => !made.has(of));
  const statistics = options.assume ? assumed : await measureTogether(toMeasure, refusals, options);
  const recipes = refusals.accepted().flatMap(({ recipe }) => allRecipes(recipe));
  for (const doubt of options.assume ? [] : await doubtsOfBases(recipes, opened, options))
    warnings.add(doubt);
  let bytesPlain = 0;
  const planned: PlannedMerge<M>[] = [];
  for (const of of refusals.accepted())
    await refusals.during(of, async () => {
      const { merge, recipe } = of;
      const found = made.get(of);
      const composed = await compose(recipe, opened, found === undefined ? statistics : assumed);
      for (const warning of composed.warnings) warnings.add(warning);
      const ofMerge = found ?? shards.of(composed);
      const bytes = ofMerge.reduce((total, shard) => total + shard.bytes, 0);
      bytesPlain += bytes;
      const basis = bases.get(of);
      planned.push({
        ...{ merge, recipe, shards: ofMerge, bytes },
        ...(basis === undefined ? {} : { basis }),
        ...(found === undefined ? {} : { isMade: true }),
      });
    });
  for (const [key, shard] of keysOfMade) if (!shards.distinct.has(key)) shards.distinct.set(key, shard);
  return {
    merges: planned,
    refused: refusals.list(),
    shards: shards.distinct,
    inputs,
    opened,
    identify: identifySource,
    bytesPlain,
    bytesDistinct: [...shards.distinct.values()].reduce((total, { bytes }) => total + bytes, 0),
    bytesVerbatim: [...shards.verbatim.values()].reduce((total, bytes) => total + bytes, 0),
    statistics,
    warnings: [...warnings],
  };
};

/** Hashes everything that a merge's weights depend on, without paths. */
const basisOf = (
  { merge, recipe }: ParsedMerge<BatchMerge>,
  opened: OpenedInputs,
  identities: readonly (readonly string[])[],
  { layout, maxShardSize, analysis }: BatchPlanOptions,
): string => {
  const models = new Map(
    [...modelsIn(recipe)].map((model) => [model, itemAt(identities, opened.indexOf(model))]),
  );
  const text = JSON.stringify([merge.recipe, layout, maxShardSize, analysis], (_, value: unknown) =>
    typeof value === 'string' ? (models.get(value) ?? value) : value,
  );
  return createHash('sha256')
    .update(`${text}\n${JSON.stringify([...models.values()])}`)
    .digest('hex');
};

const identitiesIn = (
  { checkpoints }: OpenedInputs,
  { checksums, identitiesOf }: Pick<BatchPlanOptions, 'checksums' | 'identitiesOf'>,
): Promise<readonly (readonly string[])[]> =>
  Promise.all(
    checkpoints.map(async ({ checkpoint: { files } }) =>
      identitiesOf === undefined || checksums
        ? files.map(({ path, seen }) => {
            if (seen === undefined) throw new Error(`${path} was not observed`);
            return seen.hash;
          })
        : await identitiesOf(files),
    ),
  );

export const narrowed = <M extends BatchMerge>(
  plan: BatchPlan<M>,
  isWanted: (merge: M) => boolean,
): BatchPlan<M> => {
  const merges = plan.merges.filter(({ merge }) => isWanted(merge));
  if (merges.length === plan.merges.length) return plan;
  const distinct = new Map(merges.flatMap((merge) => merge.shards.map((shard) => [shard.key, shard])));
  const shards = new Map([...plan.shards].filter(([key]) => distinct.has(key)));
  const sum = (of: readonly { readonly bytes: number }[]) =>
    of.reduce((total, { bytes }) => total + bytes, 0);
  return {
    ...plan,
    merges,
    refused: plan.refused.filter(({ merge }) => isWanted(merge)),
    shards,
    bytesPlain: sum(merges),
    bytesDistinct: sum([...shards.values()]),
    bytesVerbatim: sum([...distinct.values()].filter(({ verbatim }) => verbatim !== undefined)),
  };
};

/**
 * Plans one merge with its side files.
 *
 * @throws WRITE_FAILED if an earlier run made the merge and it has changed since
 */
export const planOf = async <M extends BatchMerge>(
  { recipe, merge, isMade }: PlannedMerge<M>,
  { statistics, opened }: BatchPlan<M>,
  options: PlanOptions,
): Promise<MergePlan> => {
  if (isMade)
    throw new LayerloomError('WRITE_FAILED', {
      file: merge.name,
      reason: 'it was there when the batch began, and has changed since; run the batch again',
    });
  return await planRecipe(recipe, options, statistics, inputsOf(recipe, opened));
};

export const plannedInputsOf = <M extends BatchMerge>(
  { recipe }: PlannedMerge<M>,
  { opened }: BatchPlan<M>,
): PlannedInput[] => inputsOf(recipe, opened).checkpoints.map(plannedInput);

export const groupsOf = (
  { shards, inputs }: Pick<BatchPlan<BatchMerge>, 'shards' | 'inputs'>,
  isWanted: (key: string) => boolean,
): ShardGroup[] =>
  groupShards(
    [...shards.values()].filter(({ key }) => isWanted(key)),
    idByPath(inputs),
  );

/** Opens all models. An error names the first merge that needs the checkpoint. */
const openAll = async (parsed: readonly ParsedMerge<BatchMerge>[]): Promise<OpenedInputs> => {
  try {
    return await openInputs(...parsed.map(({ recipe }) => recipe));
  } catch (error) {
    if (error instanceof LayerloomError && 'others' in error.details) throw error;
    for (const { merge, recipe } of parsed)
      await openInputs(recipe).catch((cause: unknown) => {
        throw named(merge, cause);
      });
    throw error;
  }
};

/** Checks models by headers. Composes one merge per method and list of models, whose error refuses all. */
const checkModels = async <M extends BatchMerge>(
  parsed: readonly ParsedMerge<M>[],
  opened: OpenedInputs,
  assumed: StatisticsByRecipe,
  refusals: Refusals<M>,
): Promise<void> => {
  const alike = groupBy(parsed, ({ recipe }) =>
    JSON.stringify([
      recipe.method,
      ...inputsOf(recipe, opened).checkpoints.map(({ checkpoint }) => checkpoint.path),
    ]),
  );
  for (const group of alike.values())
    for (const of of group) {
      if (refusals.has(of)) continue;
      await refusals.during(of, async () => {
        await checkSideFiles(await compose(of.recipe, opened, assumed), opened.session);
      });
      if (!refusals.has(of)) break;
    }
};

/** Removes a recipe's layout: merges of a batch share shards, so they share one layout. */
const forBatch = (recipe: Recipe): Recipe => {
  refuseLayout(recipe, 'of a batch, which has one layout for all');
  if (recipe.rank !== undefined)
    throw invalidSetting(
      ['rank'],
      recipe.rank,
      'no rank in a batch or an experiment: make such a merge by itself, so that it reports the errors of its adapter',
    );
  return recipe;
};
