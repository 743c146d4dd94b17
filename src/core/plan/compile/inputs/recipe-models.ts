import { itemAt } from '../../../base/errors/lookup.js';
import type { ModelReference } from '../../../methods/framework/declaration/method.js';
import type { Recipe } from '../../../methods/recipe/recipe.js';
import { describeArchitecture, requireLayers } from '../../../models/architecture/architecture.js';
import { inSpellingOf } from '../in-spelling.js';
import { transplanted } from '../vocabularies/transplanted.js';
import { type InVocabulary, inOneVocabulary } from '../vocabularies/vocabulary.js';
import { refuseTwins } from './check-models.js';
import { checkStructure } from './compatible.js';
import { at, type OpenedModel } from './models.js';
import type { PlanningSession } from './session.js';

export interface RecipeModels {
  readonly models: readonly OpenedModel[];
  readonly companions: readonly OpenedModel[];
  readonly vocabulary: InVocabulary;
}

/**
 * Opens a recipe's models in the output's vocabulary.
 *
 * @param open opens a checkpoint or compiles a nested recipe
 * @throws NAME_CLASH, and the codes of `inOneVocabulary`
 */
export const openRecipeModels = async (
  recipe: Pick<
    Recipe,
    | 'models'
    | 'companions'
    | 'needsLayers'
    | 'stacksLayers'
    | 'tokenizer'
    | 'transplant'
    | 'chatTemplate'
    | 'stack'
  >,
  open: (reference: ModelReference) => Promise<OpenedModel>,
  session: PlanningSession,
): Promise<RecipeModels> => {
  const given = await Promise.all([...recipe.models, ...recipe.companions].map(open));
  const leading = given.find(({ inPart }) => !inPart);
  const all = given.map((model) =>
    inStack(
      leading === undefined || model.role === 'gates' ? model : inSpellingOf(leading, model),
      recipe.stack,
    ),
  );
  const opened = all.filter(({ inPart }) => !inPart);
  const length = recipe.models.filter(({ inPart }) => !inPart).length;
  refuseTwins(opened.slice(0, length));
  if (recipe.needsLayers)
    for (const { architecture, checkpoint } of opened.slice(0, length))
      requireLayers(architecture, checkpoint.path);
  const [first, ...others] = opened;
  for (const other of others)
    try {
      if (first !== undefined) checkStructure(first, other, recipe.stacksLayers);
    } catch (error) {
      throw at(error, other.path);
    }
  const { transplant } = recipe;
  const vocabulary =
    transplant === undefined
      ? await inOneVocabulary(recipe, opened, session)
      : await transplanted(itemAt(all, 0), itemAt(all, 1), recipe, session);
  return {
    models: [...vocabulary.models.slice(0, length), ...all.filter(({ inPart }) => inPart)],
    companions: vocabulary.models.slice(length),
    vocabulary,
  };
};

/** @throws INVALID_PARAMETER if the model has no such stack of layers */
const inStack = (model: OpenedModel, stack: string | undefined): OpenedModel => {
  if (stack === undefined) return model;
  try {
    return { ...model, architecture: describeArchitecture(model.checkpoint, stack) };
  } catch (error) {
    throw at(error, ['stack']);
  }
};
