import { relative, resolve } from 'node:path';
import { valueAt } from '../base/lookup.js';
import { placesOf } from '../checkpoint/adapter-text.js';
import { isObject } from '../checkpoint/json.js';
import { splitName } from '../checkpoint/model-place.js';
import { modelAt, modelText } from '../checkpoint/model-text.js';
import type { RecipeInput } from '../methods/recipes.js';
import type { CompleteRecipe } from '../plan/complete-recipe.js';
import type { MergePlan, PlannedInput } from '../plan/plan.js';
import { toCamelCase } from '../recipe/case.js';
import { replaceModels } from '../recipe/model-places.js';
import { recipeYaml } from '../recipe/recipe-yaml.js';

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
    placesOf(input)
      .map(({ path, hub }) => {
        if (input.adapted !== undefined && hub !== undefined && hub.inside === undefined)
          return `${hub.id}@${hub.revision}`;
        const way = relative(resolve(folder), path);
        return way.startsWith('..') ? way : `./${way}`;
      })
      .join('+');
  const hubFirst = (input: PlannedInput, text: string) =>
    input.hub !== undefined && input.hub.inside === undefined ? text : undefined;
  return respell(completeRecipe, inputs, fromFolder, hubFirst);
};

/** Replaces the models' texts, in recipes that stand in models' places too. */
const respell = (
  recipe: CompleteRecipe,
  inputs: readonly PlannedInput[],
  pathOf: (input: PlannedInput) => string,
  keep: (input: PlannedInput, text: string) => string | undefined = () => undefined,
): CompleteRecipe => {
  const byText = new Map(inputs.map((input) => [modelText(input), input]));
  const textOf = (text: string): string => {
    const own = byText.get(text);
    const named = own === undefined ? splitName(text) : undefined;
    const input = own ?? valueAt(byText, named?.rest ?? text);
    const kept = keep(input, text);
    if (kept !== undefined) return kept;
    return named === undefined ? modelAt(input, pathOf(input)) : `${named.name}=${pathOf(input)}`;
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
