import { groupBy, itemAt } from '../../../core/base/errors/lookup.js';
import {
  type GatherOptions,
  gatherStatistics,
  type StatisticsOptions,
} from '../../../core/measure/analysis/statistics.js';
import { computeTaskVectors } from '../../../core/measure/analysis/task-vectors.js';
import { noStatistics, type Statistics } from '../../../core/methods/framework/declaration/method.js';
import { allRecipes, type Recipe } from '../../../core/methods/recipe/recipe.js';
import type { StatisticsByRecipe } from '../../../core/plan/compile/composed.js';
import type { BatchMerge, ParsedMerge } from './batch-merge.js';
import { isRefusal, type Refusals } from './refusals.js';

/** Measures statistics of whole models, once for recipes with equal needs. An error refuses the merge. */
export const measureEach = async <M extends BatchMerge>(
  merges: readonly ParsedMerge<M>[],
  refusals: Refusals<M>,
  options: GatherOptions,
  found = new Map<Recipe, Statistics>(),
): Promise<StatisticsByRecipe> => {
  const known = new Map<string, Promise<Statistics>>();
  for (const of of merges)
    await refusals.during(of, async () => {
      const { allowNonFinite } = of.recipe;
      for (const recipe of needingIn(of.recipe)) {
        if (found.has(recipe)) continue;
        const key = `${allowNonFinite} ${keyOfNeed(recipe)}`;
        const statistics = known.get(key) ?? gatherStatistics(recipe, found, { ...options, allowNonFinite });
        known.set(key, statistics);
        found.set(recipe, await statistics);
      }
    });
  return found;
};

/**
 * Makes one pass over all task vectors of a base. After an error, measures each recipe alone to find the faulty recipe.
 */
export const measureTogether = async <M extends BatchMerge>(
  merges: readonly ParsedMerge<M>[],
  refusals: Refusals<M>,
  options: StatisticsOptions,
): Promise<StatisticsByRecipe> => {
  const found = new Map<Recipe, Statistics>();
  if (options.analysis === undefined)
    for (const [allowNonFinite, some] of groupBy(merges, ({ recipe }) => recipe.allowNonFinite))
      for (const [base, recipes] of groupBy(
        some.flatMap(({ recipe }) => needingIn(recipe)),
        statisticsKey,
      )) {
        if (base === undefined) continue;
        try {
          for (const [recipe, statistics] of await taskVectorsOf(recipes, { ...options, allowNonFinite }))
            found.set(recipe, statistics);
        } catch (error) {
          if (!isRefusal(error)) throw error;
        }
      }
  return await measureEach(merges, refusals, options, found);
};

const keyOfNeed = ({ statistics, models, companions, tokenizer }: Recipe): string =>
  JSON.stringify([statistics, models, companions, { ...tokenizer, tokens: [...tokenizer.tokens] }]);

export const needsStatistics = (recipe: Recipe): boolean => needingIn(recipe).length > 0;

const needingIn = (recipe: Recipe): readonly Recipe[] =>
  allRecipes(recipe).filter(({ statistics }) => statistics !== undefined);

/**
 * Returns an equal key for recipes that can be measured together; undefined for nested recipes, and for statistics
 * other than of task vectors.
 */
const statisticsKey = ({ statistics }: Recipe): string | undefined => {
  if (statistics?.what.kind !== 'rows') return undefined;
  const { base, experts, what } = statistics;
  return [base, ...experts].every((model) => typeof model === 'string')
    ? `${what.rows} ${String(base)}`
    : undefined;
};

export const passOf = (recipe: Recipe): string => statisticsKey(recipe) ?? keyOfNeed(recipe);

const taskVectorsOf = async (
  recipes: readonly Recipe[],
  options: StatisticsOptions,
): Promise<Map<Recipe, Statistics>> => {
  const { base, what } = itemAt(recipes, 0).statistics ?? {};
  const expertsOf = ({ statistics }: Recipe) => (statistics?.experts ?? []) as readonly string[];
  const experts = [...new Set(recipes.flatMap(expertsOf))];
  const { experts: vectors } = await computeTaskVectors(
    String(base),
    experts,
    what?.kind === 'rows' ? what.rows : 'input',
    options,
  );
  return new Map(
    recipes.map((recipe) => [
      recipe,
      {
        ...noStatistics,
        taskVectors: expertsOf(recipe).map((expert) => itemAt(vectors, experts.indexOf(expert))),
      },
    ]),
  );
};
