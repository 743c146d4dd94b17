import { relative, resolve } from 'node:path';
import { foundParts, sharedAddress } from '../address/found-model.js';
import { isObject } from '../checkpoint/json.js';
import type { RecipeInput } from '../methods/recipes.js';
import type { CompleteRecipe } from '../plan/complete-recipe.js';
import type { MergePlan, PlannedInput } from '../plan/plan.js';
import { toCamelCase } from '../recipe/case.js';
import { replaceModels } from '../recipe/model-places.js';
import { recipeYaml } from '../recipe/recipe-yaml.js';
import { byPortableText, localText, modelOfText } from '../sources/found-text.js';

/**
 * Returns the recipe that makes a plan's merge again, to the same bytes: for `merge` and `planMerge`, with
 * models by their absolute paths. Weights, thresholds and numbers of layers that the plan found from the models
 * are in it as numbers; layout and shard size where they are not the defaults.
 *
 * @example await merge(recipeOf(await planMerge('ties.yaml')), { out: './again' })
 */
export const recipeOf = ({ completeRecipe, inputs }: MergePlan): RecipeInput =>
  inCamelCase(respell(completeRecipe, inputs, ({ path }) => path)) as unknown as RecipeInput;

/**
 * Formats the recipe that makes a plan's merge again as YAML, for a file in `folder`: local models by their
 * paths from there, models of the hub cache as `org/name@COMMIT`.
 */
export const recipeText = (plan: MergePlan, folder: string): string =>
  `${recipeYaml(recipeFrom(plan, folder))}\n`;

/** Returns that recipe in YAML's spelling. */
export const recipeFrom = ({ completeRecipe, inputs }: MergePlan, folder: string): CompleteRecipe => {
  const fromFolder = (input: PlannedInput): string =>
    foundParts(input)
      .map((part) => {
        const shared = input.adapted === undefined ? undefined : sharedAddress(part);
        if (shared !== undefined) return shared;
        const way = relative(resolve(folder), part.path);
        return way.startsWith('..') ? way : `./${way}`;
      })
      .join('+');
  const hubFirst = (input: PlannedInput, text: string) =>
    sharedAddress(input) === undefined ? undefined : text;
  return respell(completeRecipe, inputs, fromFolder, hubFirst);
};

/** Replaces the models' texts, in recipes that stand in models' places too. */
const respell = (
  recipe: CompleteRecipe,
  inputs: readonly PlannedInput[],
  pathOf: (input: PlannedInput) => string,
  keep: (input: PlannedInput, text: string) => string | undefined = () => undefined,
): CompleteRecipe => {
  const models = byPortableText(inputs);
  const textOf = (text: string): string => {
    const input = modelOfText(models, text);
    if (input === undefined) throw new RangeError(`there is no input ${text}`);
    return keep(input, text) ?? localText(models, text, input, pathOf(input));
  };
  const respelt = (of: CompleteRecipe): CompleteRecipe =>
    replaceModels(of, (model) =>
      typeof model === 'string' ? textOf(model) : respelt(model as CompleteRecipe),
    );
  return respelt(recipe);
};

const inCamelCase = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(inCamelCase);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [toCamelCase(key), inCamelCase(inner)]),
  );
};
