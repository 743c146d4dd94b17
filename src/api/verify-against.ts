import { invalidParameter } from '../core/base/errors/invalid-parameter.js';
import type { RunControls } from '../core/engine/run.js';
import { readClaim } from '../core/measure/proof/claim.js';
import type { SampleControls } from '../core/measure/proof/compare-expected.js';
import type { MergeProof } from '../core/measure/proof/proof.js';
import { proveMerge } from '../core/measure/proof/prove-merge.js';
import type { RecipeInput } from '../core/methods/recipes.js';
import { bringModels } from '../core/models/sources/bring-models.js';
import { planMerge } from './plan-merge.js';
import { recipeOf } from './recipe-of.js';

/** Compares an output with what a recipe gives, tensor by tensor; see `verify`. */
export const verifyAgainst = async (
  out: string,
  against: string,
  controls: RunControls & SampleControls,
): Promise<MergeProof> => {
  if (against === '') throw invalidParameter('against', against, 'a recipe, a card, BASE+ADAPTER or a model');
  const warnings = await bringModels([out], controls);
  const claim = (await readClaim(against)) as string | RecipeInput;
  const { draw: _draw, onSample: _onSample, ...running } = controls;
  const plan = await planMerge(claim, { ...running, allowChanged: true });
  const planAgain = (recipe: object) => planMerge(recipe as RecipeInput, running);
  const recipe = recipeOf(plan) as unknown as Readonly<Record<string, unknown>>;
  const proof = await proveMerge({ out, against, plan, recipe, planAgain }, controls);
  return { ...proof, warnings: [...warnings, ...proof.warnings] };
};
