import { snakeCase } from '../methods/framework/tensors/tensor-method.js';
import { renameKeys } from '../methods/recipe/document/case.js';
import { replaceModels, type WrittenModel } from '../methods/recipe/model-places.js';
import type { Recipe } from '../methods/recipe/recipe.js';
import { torchName } from '../tensor/dtype.js';

/** In YAML's spelling, with method, models and all parameters. */
export type CompleteRecipe = Readonly<Record<string, unknown>>;

/**
 * Returns the recipe that reproduces the merge bit for bit: models by `textOf`, found parameters as values,
 * and the output's dtype.
 *
 * @param again `Compiled.again`
 * @param textOf returns a model's name, or a nested recipe's complete form
 */
export const completeRecipe = (
  { given, dtype }: Pick<Recipe, 'given' | 'dtype'>,
  again: CompleteRecipe | undefined,
  textOf: (model: WrittenModel) => unknown,
): CompleteRecipe => {
  const {
    method,
    dialect,
    layout,
    maxShardSize,
    outDtype,
    as: _as,
    rank,
    allowNonFinite,
    experts: _experts,
    quantize,
    ...named
  } = replaceModels(given, textOf);
  const { task, language, model, models, slices, parts, base, ...rest } = named;
  const { tokenizerSource, tokenizer, chatTemplate, stack, ...parameters } = rest;
  const complete = {
    method,
    dialect,
    task,
    language,
    model,
    models,
    slices,
    base,
    parts,
    ...(again ?? parameters),
    dtype: dtype === undefined ? undefined : torchName(dtype),
    tokenizerSource,
    tokenizer,
    chatTemplate,
    stack,
    rank,
    quantize,
    allowNonFinite: allowNonFinite === true ? true : undefined,
  };
  return renameKeys(complete, snakeCase);
};
