import { LayerloomError } from '../../base/errors/errors.js';
import type { UncheckedRecipe } from '../framework/declaration/unchecked-recipe.js';
import type { Location } from './document/source.js';
import { locate, type Path, toPlain } from './document/tree.js';
import type { RecipeWarning } from './document/warning.js';
import { Reading } from './reading.js';
import type { RecordedInputs } from './recorded-inputs.js';

export type { Location } from './document/source.js';
export type { Path } from './document/tree.js';
export type { RecipeWarning } from './document/warning.js';
export type { MergekitValue } from './settings.js';

/** The result of reading a recipe's file. */
export interface ReadRecipe {
  /** The recipe in our dialect, unchecked by its method. Models may be nested recipes. */
  readonly recipe: UncheckedRecipe;
  readonly text: string;
  /** Recorded inputs, if the file is a merge's output. */
  readonly recorded?: RecordedInputs;
  /** Warnings about ignored keys in mergekit's dialect; in ours, such keys are errors. */
  readonly warnings: readonly RecipeWarning[];
  /** Returns the place of a value or key, as `locate` in document/tree.ts does. */
  locate(path: Path, part?: 'key' | 'value'): Location;
}

/**
 * Reads a recipe, with nested recipes, from a file in either dialect, or from an output's `README.md` or
 * `layerloom.json`. Among several documents, the recipe is the unnamed one, or the only one that no other
 * uses. Does not check methods' parameters.
 *
 * A text that begins with `{` is itself a recipe, with paths from the working directory; messages call it
 * `recipe`.
 *
 * @throws RECIPE_INVALID with file, line, column and earlier warnings
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

/** Adds warnings to RECIPE_INVALID; leaves other errors unchanged. */
export const withWarnings = (error: unknown, warnings: readonly RecipeWarning[]): unknown =>
  error instanceof LayerloomError && warnings.length > 0
    ? error.with({ warnings: warnings.map(({ text }) => text) })
    : error;

/** Adds a place to an error by its recipe path: the key's for USAGE, otherwise the value's. */
export const withPlace = (error: LayerloomError, read: Pick<ReadRecipe, 'locate'>): LayerloomError => {
  const { recipePath } = error.context;
  if (recipePath === undefined) return error;
  return error.with({ place: read.locate(recipePath, error.code === 'USAGE' ? 'key' : 'value') });
};
