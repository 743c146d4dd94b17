import { wayFrom } from '../../base/way.js';
import { recipeYaml } from '../../methods/recipe/document/recipe-yaml.js';
import { replaceModels } from '../../methods/recipe/model-places.js';
import { foundModels, sharedAddress } from '../../models/address/found-model.js';
import { byPortableText, localText, modelOfText } from '../../models/sources/found-text.js';
import type { CompleteRecipe } from '../complete-recipe.js';
import type { MergePlan, PlannedInput } from '../plan.js';

/** Returns a recipe that reproduces a merge; models are paths relative to `folder`, or `org/name@COMMIT`. */
export const recipeText = (plan: MergePlan, folder: string): string =>
  `${recipeYaml(recipeFrom(plan, folder))}\n`;

export const recipeFrom = ({ completeRecipe, inputs }: MergePlan, folder: string): CompleteRecipe => {
  const fromFolder = (input: PlannedInput): string => partsFrom(input, folder).join('+');
  const hubFirst = (input: PlannedInput, text: string) =>
    sharedAddress(input) === undefined ? undefined : text;
  return respell(completeRecipe, inputs, fromFolder, hubFirst);
};

export const partsFrom = (input: PlannedInput, folder: string): string[] =>
  foundModels(input).map((part) => sharedAddress(part) ?? wayFrom(folder, part.path));

/** Renames a recipe's models, including those of nested recipes. */
export const respell = (
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
    replaceModels(of, (model) => (typeof model === 'string' ? textOf(model) : respelt(model)));
  return respelt(recipe);
};
