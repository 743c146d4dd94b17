import { LayerloomError } from '../../base/errors.js';
import { Reading } from './reading.js';
import type { UncheckedRecipe } from './recipe.js';
import type { RecordedInputs } from './recorded-inputs.js';
import type { Location } from './source.js';
import { locate, type Path, toPlain } from './tree.js';
import type { RecipeWarning } from './warning.js';

export type { MergekitValue } from './settings.js';
export type { Location } from './source.js';
export type { Path } from './tree.js';
export type { RecipeWarning } from './warning.js';

/** The result of reading a recipe's file. */
export interface ReadRecipe {
  /** The recipe in the shape of our dialect, not checked by its method yet. Models may be nested recipes. */
  readonly recipe: UncheckedRecipe;
  /** The text of the file. */
  readonly text: string;
  /** The inputs that the file records, where it is of a merge's output. */
  readonly recorded?: RecordedInputs;
  /**
   * Keys and parameters of mergekit's dialect that are ignored, as mergekit ignores them, with their places.
   * Our own dialect has none: there they are errors.
   */
  readonly warnings: readonly RecipeWarning[];
  /**
   * Returns the place where the value (or key) at a path of `recipe` was written, in this file or another one
   * that it uses. If there is no such value, the place of the innermost one on the path.
   */
  locate(path: Path, part?: 'key' | 'value'): Location;
}

/**
 * Reads a recipe's file of either dialect, or the recipe in an output's `README.md` or `layerloom.json`, with the nested recipes that replace models: in place, other
 * documents of the file by their `name`, or other files. If the file has several documents, its recipe is the
 * one without a name, or the only one that no other uses.
 *
 * A text that begins with `{` is the recipe itself, in either dialect; its paths go from the working directory, and
 * messages call it `recipe`.
 *
 * Parameters of methods are not checked here.
 *
 * @throws LayerloomError RECIPE_INVALID, with the file, line and column of what is wrong, and the warnings before it
 */
export const readRecipe = async (given: string): Promise<ReadRecipe> => {
  const reading = new Reading();
  const recipe = await reading.given(given).catch((error: unknown) => {
    throw withWarnings(error, reading.warnings);
  });
  const { recorded, warnings } = reading;
  return {
    ...(recorded === undefined ? {} : { recorded }),
    recipe: toPlain(recipe) as UncheckedRecipe,
    text: recipe.mark.source.text,
    warnings,
    locate: (path, part) => locate(recipe, path, part),
  };
};

/** Returns an error with the warnings of the file that it is about; another value as it is. */
export const withWarnings = (error: unknown, warnings: readonly RecipeWarning[]): unknown =>
  error instanceof LayerloomError && warnings.length > 0
    ? error.with({ warnings: warnings.map(({ text }) => text) })
    : error;

/**
 * Returns an error about the value at `context.recipePath` with its place in the file: that of the key if the
 * error is USAGE, that of the value otherwise. An error without a path is returned unchanged.
 */
export const withPlace = (error: LayerloomError, read: Pick<ReadRecipe, 'locate'>): LayerloomError => {
  const { recipePath } = error.context;
  if (recipePath === undefined) return error;
  return error.with({ place: read.locate(recipePath, error.code === 'USAGE' ? 'key' : 'value') });
};
