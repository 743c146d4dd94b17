import { checkInterrupt, LayerloomError } from '../errors.js';
import type { Statistics } from '../methods/method.js';
import { compose, type Inputs, observeInputs, openInputs, type StatisticsByRecipe } from '../plan/compose.js';
import { plannedInput } from '../plan/models.js';
import { describeExpression } from '../plan/origins.js';
import type { MergePlan, PlannedExpression } from '../plan/plan.js';
import { type PlanOptions, planRecipe } from '../plan/plan-merge.js';
import { nearest } from '../recipe/nearest.js';
import { readRecipe, withPlace } from '../recipe/read-recipe.js';
import { parseRecipe, type Recipe, type RecipeInput } from '../recipe/recipe.js';
import { gatherStatistics, type StatisticsOptions } from './statistics.js';

/** How to plan, and how to run the stage before it where a method needs one. */
export type MergePlanOptions = PlanOptions &
  StatisticsOptions & {
    /** The output's floating dtype, instead of the recipe's. */
    dtype?: string | undefined;
  };

/**
 * Decides a merge: opens the recipe's models, checks that they fit, and fixes every byte range of the output. Only headers and small files are
 * read, but where the method needs to know whole models (`weights: 'magnitude'`, `revert` by rows, TIES as in its paper): then task vectors are
 * read from `analysis`, or computed from the weights.
 *
 * @param input a recipe, or its file (YAML, of our dialect or mergekit's)
 * @throws LayerloomError: a recipe's, a checkpoint's, an incompatibility's or an analysis's code, with file, line and column where a file is to blame; INTERRUPTED
 */
export const planMerge = (input: RecipeInput | string, options: MergePlanOptions = {}): Promise<MergePlan> =>
  withRecipe(input, options, async (recipe) => {
    const { inputs, statistics } = await openFor(recipe, options);
    const plan = await planRecipe(recipe, options, statistics, inputs);
    // Headers are read without looking at the signal.
    checkInterrupt(options.signal);
    return plan;
  });

/** How one tensor of a merge comes about. */
export interface Explanation {
  readonly tensor: string;
  readonly layer: number | null;
  readonly dtype: string;
  readonly shape: readonly number[];
  /** The method's parameters for it, gradients and filters resolved. */
  readonly parameters: Readonly<Record<string, unknown>>;
  /** In words, over the models' names; and as it is planned, over byte ranges. */
  readonly words: string;
  readonly expression: PlannedExpression;
}

/**
 * Says how one tensor of a merge comes about.
 *
 * @throws LayerloomError INVALID_PARAMETER where the merge has no such tensor; the codes of `planMerge`
 */
export const explainTensor = (
  input: RecipeInput | string,
  tensor: string,
  options: MergePlanOptions = {},
): Promise<Explanation> =>
  withRecipe(input, options, async (recipe) => {
    const { inputs, statistics } = await openFor(recipe, options);
    const { tensors, compiled } = await compose(recipe, inputs, statistics);
    const found = tensors.find(({ name }) => name === tensor);
    if (found === undefined) {
      const near = nearest(
        tensor,
        tensors.map(({ name }) => name),
      );
      throw new LayerloomError('INVALID_PARAMETER', {
        parameter: 'explain',
        value: tensor,
        expected: `a tensor of the output${near === undefined ? '' : `, such as ${near}`}`,
      });
    }
    const { name, dtype, shape, place, expression } = found;
    return {
      tensor: name,
      layer: place.layer ?? null,
      dtype,
      shape,
      parameters: compiled.parametersOf?.(place, name) ?? compiled.resolved,
      words: describeExpression(expression, inputs.checkpoints.map(plannedInput)),
      expression,
    };
  });

/** Parses a recipe, which may be a file's, and gives errors of what follows their place in it. */
const withRecipe = async <T>(
  input: RecipeInput | string,
  { dtype }: MergePlanOptions,
  work: (recipe: Recipe) => Promise<T>,
): Promise<T> => {
  const read = typeof input === 'string' ? await readRecipe(input) : undefined;
  const given = (read?.recipe ?? input) as RecipeInput;
  try {
    return await work(parseRecipe(dtype === undefined ? given : { ...given, dtype, outDtype: undefined }));
  } catch (error) {
    throw read !== undefined && error instanceof LayerloomError ? withPlace(error, read) : error;
  }
};

/** A recipe's models, and what it and the recipes in it must know of them beforehand. */
const openFor = async (
  recipe: Recipe,
  options: MergePlanOptions,
): Promise<{ inputs: Inputs; statistics: StatisticsByRecipe }> => {
  const statistics = new Map<Recipe, Statistics>();
  // Whether every model is there is known before weights are read.
  const opened = await openInputs(recipe);
  if (!needsStatistics(recipe)) return { inputs: opened, statistics };
  // Statistics and the merge read the same weights, or the merge is refused: their states are of before both.
  const inputs = await observeInputs(opened);
  const gather = async (of: Recipe): Promise<void> => {
    for (const inner of of.nested.values()) await gather(inner);
    if (of.statistics !== undefined) statistics.set(of, await gatherStatistics(of, statistics, options));
  };
  await gather(recipe);
  return { inputs, statistics };
};

const needsStatistics = (recipe: Recipe): boolean =>
  recipe.statistics !== undefined || [...recipe.nested.values()].some(needsStatistics);
