import { methods } from '../../core/methods/index.js';
import type { RecipeInput, RecipesByMethod } from '../../core/methods/recipes.js';

/** Returns a method's recipe from its options. Those that override any recipe come with the plan. */
export const recipeOf = (method: keyof RecipesByMethod, options: object): RecipeInput => {
  const parameters = [...Object.keys(methods.get(method)?.schema.shape ?? {}), 'stack'];
  const given = Object.entries(options).filter(([name]) => parameters.includes(name));
  return { method, ...Object.fromEntries(given) } as unknown as RecipeInput;
};
