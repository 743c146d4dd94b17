import { methods } from '../../core/methods/index.js';
import type { RecipeInput, RecipesByMethod } from '../../core/methods/recipes.js';

/** Includes `--dtype`, `--stack` and `--tokenizer`. */
export const recipeOf = (
  method: keyof RecipesByMethod,
  options: { readonly tokenizer?: string },
): RecipeInput => {
  const parameters = [...Object.keys(methods.get(method)?.schema.shape ?? {}), 'dtype', 'stack'];
  const given = Object.entries(options).filter(([name]) => parameters.includes(name));
  const { tokenizer } = options;
  return {
    method,
    ...Object.fromEntries(given),
    ...(tokenizer === undefined ? {} : { tokenizerSource: tokenizer }),
  } as unknown as RecipeInput;
};
