import type { LayerloomError } from '../errors.js';
import { Reading } from './reading.js';
import type { UncheckedRecipe } from './recipe.js';
import type { Location } from './source.js';
import { locate, type Path, toPlain } from './tree.js';

export type { MergekitValue } from './settings.js';
export type { Location } from './source.js';
export type { Path } from './tree.js';

/** A recipe's file, read. */
export interface ReadRecipe {
  /** In our dialect's shape, not yet checked by its method. Where a model stands there may be another recipe. */
  readonly recipe: UncheckedRecipe;
  /** The whole file. */
  readonly text: string;
  /**
   * Where a value of `recipe` was written, or its key, in this file or in another one that it uses. Of a path that leads further than the file
   * does, where its longest known beginning leads.
   */
  locate(path: Path, part?: 'key' | 'value'): Location;
}

/**
 * Reads a recipe's file, of either dialect, with the recipes it uses in place of models: other documents of the file by their `name`, other
 * files, and recipes in place. Of several documents the one without a name is meant, or the only one that no other uses.
 *
 * What a method's parameters are and may be is not checked here.
 *
 * @throws LayerloomError RECIPE_INVALID, with the file, line and column of what is wrong
 */
export const readRecipe = async (file: string): Promise<ReadRecipe> => {
  const recipe = await new Reading().file(file);
  return {
    recipe: toPlain(recipe) as UncheckedRecipe,
    text: recipe.mark.source.text,
    locate: (path, part) => locate(recipe, path, part),
  };
};

/**
 * An error about a value of a recipe (`context.recipePath` leads to it), with the place where the file says it: the key where the error is USAGE,
 * the value otherwise. An error without a path stays as it is.
 */
export const withPlace = (error: LayerloomError, read: Pick<ReadRecipe, 'locate'>): LayerloomError => {
  const { recipePath } = error.context;
  if (recipePath === undefined) return error;
  return error.with({ place: read.locate(recipePath, error.code === 'USAGE' ? 'key' : 'value') });
};
