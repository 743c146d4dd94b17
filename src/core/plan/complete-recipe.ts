import type { commonSettings, outputSettings } from '../methods/framework/declaration/common-settings.js';
import { snakeCase } from '../methods/framework/tensors/tensor-method.js';
import { renameKeys } from '../methods/recipe/document/case.js';
import { replaceModels, type WrittenModel } from '../methods/recipe/model-places.js';
import type { Recipe } from '../methods/recipe/recipe.js';
import { torchName } from '../tensor/dtype.js';

/** A recipe with method, models and all parameters; keys as in YAML. */
export type CompleteRecipe = Readonly<Record<string, unknown>>;

type Setting = keyof typeof commonSettings.shape | keyof typeof outputSettings.shape;

/** Says whether complete recipes repeat a setting. A complete recipe has the output's dtype as `dtype`. */
const settings: Readonly<Record<Setting, 'repeated' | 'left out'>> = {
  dtype: 'left out',
  outDtype: 'left out',
  chatTemplate: 'repeated',
  stack: 'repeated',
  as: 'left out',
  rank: 'repeated',
  quantize: 'repeated',
  layout: 'left out',
  maxShardSize: 'left out',
  experts: 'left out',
  config: 'repeated',
  allowNonFinite: 'repeated',
};

/**
 * Returns a recipe that reproduces the merge: models by `textOf`, resolved values, the output's dtype.
 *
 * @param textOf a model's name, or a nested recipe's complete form
 */
export const completeRecipe = (
  { given, dtype }: Pick<Recipe, 'given' | 'dtype'>,
  again: CompleteRecipe | undefined,
  textOf: (model: WrittenModel) => unknown,
): CompleteRecipe => {
  const { method, dialect, ...named } = replaceModels(given, textOf);
  const { task, language, model, models, slices, parts, base, ...rest } = named;
  const { tokenizerSource, tokenizer, ...others } = rest;
  const repeated = Object.keys(settings).filter((key) => settings[key as Setting] === 'repeated');
  const parameters = Object.fromEntries(
    Object.entries(others).filter(([key]) => key === 'dtype' || !(key in settings)),
  );
  const complete = {
    ...{ method, dialect, task, language, model, models, slices, base, parts },
    ...(again ?? parameters),
    dtype: dtype === undefined ? undefined : torchName(dtype),
    tokenizerSource,
    tokenizer,
    ...Object.fromEntries(repeated.map((key) => [key, others[key] === false ? undefined : others[key]])),
  };
  return renameKeys(complete, snakeCase);
};
