import { methods } from '../methods/index.js';
import type { RecipeInput, RecipesByMethod } from '../methods/recipes.js';

/**
 * Makes a recipe of a command's options that have the name of a parameter of the method, and of `--dtype`.
 */
export const recipeOf = (method: keyof RecipesByMethod, options: object): RecipeInput => {
  const parameters = [...Object.keys(methods.get(method)?.schema.shape ?? {}), 'dtype'];
  const given = Object.entries(options).filter(([name]) => parameters.includes(name));
  return { method, ...Object.fromEntries(given) } as unknown as RecipeInput;
};
