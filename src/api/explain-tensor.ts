import { compose } from '../compile/compose.js';
import { type Explanation, explain } from '../compile/explanation.js';
import { plannedInput } from '../compile/models.js';
import type { RecipeInput } from '../methods/recipes.js';
import { type MergePlanOptions, openFor, withRecipe } from './plan-merge.js';

/**
 * Explains how one tensor of a merge is made.
 *
 * @throws LayerloomError INVALID_PARAMETER where the merge has no such tensor; the codes of `planMerge`
 */
export const explainTensor = (
  input: RecipeInput | string,
  tensor: string,
  options: MergePlanOptions = {},
): Promise<Explanation> =>
  withRecipe(input, options, async (recipe, recorded) => {
    const { inputs, statistics } = await openFor(recipe, options, recorded);
    return explain(await compose(recipe, inputs, statistics), tensor, inputs.checkpoints.map(plannedInput));
  });
