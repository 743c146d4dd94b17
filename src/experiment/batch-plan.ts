import { gatherStatistics, type StatisticsOptions } from '../analysis/statistics.js';
import { computeTaskVectors } from '../analysis/task-vectors.js';
import { LayerloomError } from '../errors.js';
import { noStatistics, type Statistics, type TaskVectorStatistics } from '../methods/framework/method.js';
import type { RecipeInput } from '../methods/recipes.js';
import {
  compose,
  inputsOf,
  type OpenedInputs,
  observeInputs,
  openInputs,
  type StatisticsByRecipe,
} from '../plan/compose.js';
import { layOut } from '../plan/layout.js';
import { plannedInput } from '../plan/models.js';
import { type MergePlan, type PlannedInput, verbatimPath } from '../plan/plan.js';
import {
  checkSideFiles,
  inputFiles,
  type PlanOptions,
  parseLayout,
  planRecipe,
} from '../plan/plan-recipe.js';
import { shardKey } from '../plan/shard-key.js';
import { parseRecipe, type Recipe } from '../recipe/recipe.js';
import type { StoredTensor } from '../tensor/stored-tensor.js';
import { type DistinctShard, groupShards, type ShardGroup } from './groups.js';

/** A merge of a batch, and where it goes. */
export interface BatchMerge {
  /** Also its path, relative to the batch's directory. */
  readonly name: string;
  readonly recipe: RecipeInput;
}

/** A shard of one merge: what is in the store under its key, or an input file as it stands. */
export interface MergeShard {
  readonly file: string;
  readonly bytes: number;
  readonly key: string;
  /** The input file that it is, where it is one. */
  readonly verbatim?: string;
}

export interface PlannedMerge<M extends BatchMerge> {
  readonly merge: M;
  readonly recipe: Recipe;
  readonly shards: readonly MergeShard[];
  readonly bytes: number;
}

/** Many merges, decided: which distinct shards they are made of. */
export interface BatchPlan<M extends BatchMerge> {
  readonly merges: readonly PlannedMerge<M>[];
  /** Distinct ones, by key, in the order in which merges need them; those that are input files as they stand aside. */
  readonly shards: ReadonlyMap<string, DistinctShard>;
  readonly inputs: readonly PlannedInput[];
  readonly opened: OpenedInputs;
  /** Bytes that the merges would take if each were written by itself. */
  readonly bytesPlain: number;
  /** Of distinct shards. */
  readonly bytesDistinct: number;
  /** Of shards that are input files as they stand. */
  readonly bytesVerbatim: number;
  readonly statistics: StatisticsByRecipe;
  readonly warnings: readonly string[];
}

export interface BatchPlanOptions extends PlanOptions, StatisticsOptions {
  /**
   * Plan without reading weights: what methods must know of whole models is made up, so that sizes are right and no weight is. Such a plan cannot be
   * carried out.
   */
  assume?: boolean | undefined;
  /** Know inputs by the SHA-256 of all their bytes, not by size, time, header and samples. */
  checksums?: boolean | undefined;
}

/**
 * Decides many merges together. Every checkpoint is opened once; shards are known by what they are made of, so that one that several merges
 * share is planned once.
 *
 * @throws LayerloomError: a recipe's, a checkpoint's or an incompatibility's code, with the merge that it was found in
 */
export const planBatch = async <M extends BatchMerge>(
  merges: readonly M[],
  options: BatchPlanOptions,
): Promise<BatchPlan<M>> => {
  const layout = parseLayout(options);
  const parsed = merges.map((merge) => ({ merge, recipe: inMerge(merge, () => parseRecipe(merge.recipe)) }));
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
  const inputFileOf = inputFiles(opened.checkpoints);
  const inputs = opened.checkpoints.map(plannedInput);

  const shards = new Map<string, DistinctShard>();
  const verbatim = new Set<string>();
  const warnings = new Set<string>();
  let [bytesPlain, bytesVerbatim] = [0, 0];
  const planned: PlannedMerge<M>[] = [];
  for (const { merge, recipe } of parsed) {
    const composed = await compose(recipe, opened, statistics).catch((error: unknown) => {
      throw named(merge, error);
    });
    for (const warning of composed.warnings) warnings.add(warning);
    const laid = layOut(composed.tensors, layout, inputFileOf);
    const ofMerge = laid.map((shard): MergeShard => {
      const key = shardKey(shard.tensors, identifySource);
      const from = verbatimPath(shard, inputs);
      if (from === undefined) {
        if (!shards.has(key)) shards.set(key, { key, bytes: shard.bytes, tensors: shard.tensors });
      } else if (!verbatim.has(from)) {
        verbatim.add(from);
        bytesVerbatim += shard.bytes;
      }
      return { file: shard.file, bytes: shard.bytes, key, ...(from === undefined ? {} : { verbatim: from }) };
    });
    const bytes = ofMerge.reduce((total, shard) => total + shard.bytes, 0);
    bytesPlain += bytes;
    planned.push({ merge, recipe, shards: ofMerge, bytes });
  }
  return {
    merges: planned,
    shards,
    inputs,
    opened,
    bytesPlain,
    bytesDistinct: [...shards.values()].reduce((total, { bytes }) => total + bytes, 0),
    bytesVerbatim,
    statistics,
    warnings: [...warnings],
  };
};

/** The whole plan of one merge, with its side files: what is written beside its shards. */
export const planOf = <M extends BatchMerge>(
  { recipe }: PlannedMerge<M>,
  { statistics, opened }: BatchPlan<M>,
  options: PlanOptions,
): Promise<MergePlan> => planRecipe(recipe, options, statistics, inputsOf(recipe, opened));

/** The groups in which shards are made, those that are not `present`. */
export const groupsOf = (
  { shards }: Pick<BatchPlan<BatchMerge>, 'shards'>,
  isWanted: (key: string) => boolean,
): ShardGroup[] => groupShards([...shards.values()].filter(({ key }) => isWanted(key)));

const named = ({ name }: BatchMerge, error: unknown): unknown =>
  error instanceof LayerloomError ? error.with({ merge: name }) : error;

const inMerge = <T>(merge: BatchMerge, work: () => T): T => {
  try {
    return work();
  } catch (error) {
    throw named(merge, error);
  }
};

/** Opens every checkpoint once; where one cannot be opened, says which merge needs it. */
const openAll = async (
  parsed: readonly { readonly merge: BatchMerge; readonly recipe: Recipe }[],
): Promise<OpenedInputs> => {
  try {
    return await openInputs(...parsed.map(({ recipe }) => recipe));
  } catch (error) {
    for (const { merge, recipe } of parsed)
      await openInputs(recipe).catch((cause: unknown) => {
        throw named(merge, cause);
      });
    throw error;
  }
};

/** Says what does not fit before any weight is read: of merges of the same models by one method, one is tried. */
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

const allRecipes = (recipe: Recipe): Recipe[] => [...[...recipe.nested.values()].flatMap(allRecipes), recipe];

/** What recipes must know of whole models: the task vectors of all experts in one pass, of those against one base by one sense of rows. */
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
      taskVectors: experts.map((expert) => ofExperts.get(expert) as TaskVectorStatistics),
    });
  }
  return found;
};

/** Recipes of one key need rows of checkpoints against one base, by one sense. */
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
  return new Map(experts.map((expert, index) => [expert, vectors[index] as TaskVectorStatistics]));
};

/** Statistics of no model, each expert's unlike the others', so that weights from them are unlike any that are given. */
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
