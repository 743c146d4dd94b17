import { gatherStatistics, type StatisticsOptions } from '../analysis/statistics.js';
import { computeTaskVectors } from '../analysis/task-vectors.js';
import { LayerloomError } from '../errors.js';
import { bringModels } from '../hub/bring-models.js';
import { itemAt, valueAt } from '../lookup.js';
import { noStatistics, type Statistics, type TaskVectorStatistics } from '../methods/framework/method.js';
import { invalid } from '../methods/framework/settings.js';
import type { RecipeInput } from '../methods/recipes.js';
import { inForm } from '../plan/adapters/form.js';
import { compose } from '../plan/compose.js';
import type { StatisticsByRecipe } from '../plan/composed.js';
import { plannedInput } from '../plan/models.js';
import { inputsOf, modelsIn, type OpenedInputs, observeInputs, openInputs } from '../plan/opened-inputs.js';
import type { MergePlan, PlannedInput } from '../plan/plan.js';
import { inputFiles, type PlanOptions, parseLayout, planRecipe } from '../plan/plan-recipe.js';
import { checkSideFiles } from '../plan/side-files.js';
import { allRecipes, parseRecipe, type Recipe, refuseLayout } from '../recipe/recipe.js';
import { idByPath, type StoredTensor } from '../tensor/stored-tensor.js';
import { type DistinctShard, groupShards, type ShardGroup } from './groups.js';
import { type MergeShard, MergeShards } from './merge-shards.js';

/** A merge of a batch. */
export interface BatchMerge {
  /** Its name, which is also its path relative to the batch's directory. */
  readonly name: string;
  readonly recipe: RecipeInput;
  /** Merges of one entry and language are made together; by default all are of one. */
  readonly entry?: number;
  readonly language?: string;
}

/** A merge of a batch, decided: its recipe and its shards. */
export interface PlannedMerge<M extends BatchMerge> {
  readonly merge: M;
  readonly recipe: Recipe;
  readonly shards: readonly MergeShard[];
  readonly bytes: number;
}

/** The plan of many merges: the distinct shards that they consist of. */
export interface BatchPlan<M extends BatchMerge> {
  readonly merges: readonly PlannedMerge<M>[];
  /** Distinct shards by key, in the order in which merges need them, without those that are input files. */
  readonly shards: ReadonlyMap<string, DistinctShard>;
  readonly inputs: readonly PlannedInput[];
  readonly opened: OpenedInputs;
  /** Bytes that the merges would take if each were written separately. */
  readonly bytesPlain: number;
  /** Bytes of the distinct shards. */
  readonly bytesDistinct: number;
  /** Bytes of the distinct input files that are linked as shards. */
  readonly bytesVerbatim: number;
  readonly statistics: StatisticsByRecipe;
  readonly warnings: readonly string[];
}

export interface BatchPlanOptions extends PlanOptions, StatisticsOptions {
  /**
   * Plan without reading weights: placeholders stand for statistics of whole models, so that sizes are right
   * but coefficients are not. Such a plan must not be executed.
   */
  assume?: boolean | undefined;
  /** Identify inputs by the SHA-256 of all their bytes, instead of by size, time, header and samples. */
  checksums?: boolean | undefined;
  /** Warnings of the caller, to stand before the plan's own. */
  warnings?: readonly string[] | undefined;
}

/**
 * Plans many merges together. Every checkpoint is opened once, and shards are identified by a hash of their
 * contents' formulas, so that merges share them.
 *
 * @throws LayerloomError the codes of recipes, checkpoints and incompatible models, with the merge in the
 *   details
 */
export const planBatch = async <M extends BatchMerge>(
  merges: readonly M[],
  options: BatchPlanOptions,
): Promise<BatchPlan<M>> => {
  const layout = parseLayout(options);
  const parsed = [];
  for (const merge of merges) {
    const input = await inForm(merge.recipe).catch((error: unknown) => {
      throw named(merge, error);
    });
    parsed.push({ merge, recipe: inMerge(merge, () => parseInBatch(input)) });
  }
  const fetched = await bringModels(modelsIn(...parsed.map(({ recipe }) => recipe)), options);
  const headers = await openAll(parsed);
  if (options.assume !== true) await checkModels(parsed, headers);
  const opened = await observeInputs(headers, options.checksums ? 'bytes' : 'samples');
  const statistics = await statisticsOf(
    parsed.map(({ recipe }) => recipe),
    options,
  );
  const identifySource = ({ input, file }: StoredTensor): string => {
    const seen = opened.checkpoints[input]?.checkpoint.files[file]?.seen;
    if (seen === undefined) throw new Error(`file ${file} of input ${input} was not observed`);
    return seen.hash;
  };
  const inputs = opened.checkpoints.map(plannedInput);
  const shards = new MergeShards({
    layout,
    inputFileOf: inputFiles(opened.checkpoints),
    identify: identifySource,
    inputs,
  });
  const warnings = new Set<string>([...(options.warnings ?? []), ...fetched]);
  let bytesPlain = 0;
  const planned: PlannedMerge<M>[] = [];
  for (const { merge, recipe } of parsed) {
    const composed = await compose(recipe, opened, statistics).catch((error: unknown) => {
      throw named(merge, error);
    });
    for (const warning of composed.warnings) warnings.add(warning);
    const ofMerge = shards.of(composed);
    const bytes = ofMerge.reduce((total, shard) => total + shard.bytes, 0);
    bytesPlain += bytes;
    planned.push({ merge, recipe, shards: ofMerge, bytes });
  }
  return {
    merges: planned,
    shards: shards.distinct,
    inputs,
    opened,
    bytesPlain,
    bytesDistinct: [...shards.distinct.values()].reduce((total, { bytes }) => total + bytes, 0),
    bytesVerbatim: [...shards.verbatim.values()].reduce((total, bytes) => total + bytes, 0),
    statistics,
    warnings: [...warnings],
  };
};

/** Returns the complete plan of one merge, with its side files. */
export const planOf = <M extends BatchMerge>(
  { recipe }: PlannedMerge<M>,
  { statistics, opened }: BatchPlan<M>,
  options: PlanOptions,
): Promise<MergePlan> => planRecipe(recipe, options, statistics, inputsOf(recipe, opened));

/** Returns the inputs of one merge, as its complete plan has them. */
export const plannedInputsOf = <M extends BatchMerge>(
  { recipe }: PlannedMerge<M>,
  { opened }: BatchPlan<M>,
): PlannedInput[] => inputsOf(recipe, opened).checkpoints.map(plannedInput);

/** Returns the groups in which the wanted shards are made. */
export const groupsOf = (
  { shards, inputs }: Pick<BatchPlan<BatchMerge>, 'shards' | 'inputs'>,
  isWanted: (key: string) => boolean,
): ShardGroup[] =>
  groupShards(
    [...shards.values()].filter(({ key }) => isWanted(key)),
    idByPath(inputs),
  );

const named = ({ name }: BatchMerge, error: unknown): unknown =>
  error instanceof LayerloomError ? error.with({ merge: name }) : error;

const inMerge = <T>(merge: BatchMerge, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    throw named(merge, error);
  }
};

/** Opens every checkpoint once. If one cannot be opened, the error names the first merge that needs it. */
const openAll = async (
  parsed: readonly { readonly merge: BatchMerge; readonly recipe: Recipe }[],
): Promise<OpenedInputs> => {
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

/**
 * Refuses incompatible models before any weight is read, by composing one merge for each method and list of
 * models.
 */
const checkModels = async (
  parsed: readonly { readonly merge: BatchMerge; readonly recipe: Recipe }[],
  opened: OpenedInputs,
): Promise<void> => {
  const tried = new Set<string>();
  for (const { merge, recipe } of parsed) {
    const paths = inputsOf(recipe, opened).checkpoints.map(({ checkpoint }) => checkpoint.path);
    const key = JSON.stringify([recipe.method, ...paths]);
    if (tried.has(key)) continue;
    tried.add(key);
    const statistics = new Map(
      allRecipes(recipe)
        .filter((inner) => inner.statistics !== undefined)
        .map((inner) => [inner, assumed(inner)]),
    );
    await compose(recipe, { ...opened, made: new Map() }, statistics)
      .then(checkSideFiles)
      .catch((error: unknown) => {
        throw named(merge, error);
      });
  }
};

/** All merges of a batch share one layout, since they share shards. */
const parseInBatch = (input: RecipeInput): Recipe => {
  const recipe = parseRecipe(input);
  refuseLayout(recipe, [], 'of a batch, which has one layout for all');
  if (recipe.rank !== undefined)
    throw invalid(
      ['rank'],
      recipe.rank,
      'no rank in a batch or an experiment: merges of one adapter report its errors',
    );
  return recipe;
};

/**
 * Measures the statistics that recipes need of whole models. Task vectors against the same base, by the same
 * sense of rows, are measured in one pass over all experts.
 */
const statisticsOf = async (
  recipes: readonly Recipe[],
  { assume = false, ...options }: BatchPlanOptions,
): Promise<StatisticsByRecipe> => {
  const found = new Map<Recipe, Statistics>();
  const needing = recipes.flatMap(allRecipes).filter(({ statistics }) => statistics !== undefined);
  if (assume) {
    for (const recipe of needing) found.set(recipe, assumed(recipe));
    return found;
  }
  const vectors = new Map<string, Promise<ReadonlyMap<string, TaskVectorStatistics>>>();
  const plain = needing.filter((recipe) => keyOf(recipe) !== undefined);
  for (const recipe of needing) {
    const key = options.analysis === undefined ? keyOf(recipe) : undefined;
    if (key === undefined) {
      found.set(recipe, await gatherStatistics(recipe, found, options));
      continue;
    }
    const together = plain.filter((other) => keyOf(other) === key);
    const all = vectors.get(key) ?? taskVectorsOf(together, options);
    vectors.set(key, all);
    const ofExperts = await all;
    const experts = (recipe.statistics?.experts ?? []) as readonly string[];
    found.set(recipe, {
      ...noStatistics,
      taskVectors: experts.map((expert) => valueAt(ofExperts, expert)),
    });
  }
  return found;
};

/**
 * Returns the key of recipes whose task vectors are measured together; undefined for statistics of other
 * kinds, or of nested recipes.
 */
const keyOf = ({ statistics }: Recipe): string | undefined => {
  if (statistics?.what.kind !== 'rows') return undefined;
  const { base, experts, what } = statistics;
  return [base, ...experts].every((model) => typeof model === 'string')
    ? `${what.rows} ${String(base)}`
    : undefined;
};

const taskVectorsOf = async (
  recipes: readonly Recipe[],
  options: StatisticsOptions,
): Promise<ReadonlyMap<string, TaskVectorStatistics>> => {
  const [first] = recipes;
  const experts = [...new Set(recipes.flatMap(({ statistics }) => statistics?.experts ?? []))] as string[];
  const rows = first?.statistics?.what.kind === 'rows' ? first.statistics.what.rows : 'input';
  const { experts: vectors } = await computeTaskVectors(
    String(first?.statistics?.base),
    experts,
    { rows, threshold: 0 },
    { ...options, pairs: false },
  );
  return new Map(experts.map((expert, index) => [expert, itemAt(vectors, index)]));
};

/**
 * Returns placeholder statistics. They differ between experts, so that weights computed from them, and the
 * shard keys, differ from those of uniform weights.
 */
const assumed = ({ statistics }: Recipe): Statistics => ({
  ...noStatistics,
  thresholds: statistics?.experts.map(() => 0) ?? [],
  taskVectors: (statistics?.experts ?? []).map((expert, index) => ({
    name: String(expert),
    base: { name: String(statistics?.base) },
    rows: 'input',
    tensors: {
      '': { rows: 1, parametersPerRow: 1, meanMav: 1 + (index + 1) / 1024, nonFiniteRows: 0 },
    },
    vectors: new Map(),
  })),
});
