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

export interface ReadRecipe {
  /** The recipe in our dialect, not yet checked by its method. Models may be nested recipes. */
  readonly recipe: UncheckedRecipe;
  readonly text: string;
  /** The inputs that the file records, if it belongs to a merge's output. */
  readonly recorded?: RecordedInputs;
  /** Ignored keys and parameters of mergekit's dialect, with places. In our own dialect they are errors. */
  readonly warnings: readonly RecipeWarning[];
  /**
   * Returns where the value (or key) at a path of `recipe` was written, in this or another file. If it does
   * not exist, the innermost existing value on the path counts.
   */
  locate(path: Path, part?: 'key' | 'value'): Location;
}

/**
 * Reads a recipe's file in either dialect, or the recipe in an output's `README.md` or `layerloom.json`. Also
 * reads nested recipes: in place, other documents by `name`, or other files. The file's recipe is its
 * document without a name, or the only one that no other uses.
 *
 * A text that begins with `{` is the recipe itself, in either dialect. Paths in it start in the working
 * directory, and messages call it `recipe`.
 *
 * Parameters of methods are not checked here.
 *
 * @throws LayerloomError RECIPE_INVALID with file, line, column and earlier warnings
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

/** Adds a file's warnings to an error; returns other values unchanged. */
export const withWarnings = (error: unknown, warnings: readonly RecipeWarning[]): unknown =>
  error instanceof LayerloomError && warnings.length > 0
    ? error.with({ warnings: warnings.map(({ text }) => text) })
    : error;

/**
 * Adds the place of `context.recipePath` to an error: of the key for USAGE, else of the value. Without a
 * path, returns the error unchanged.
 */
export const withPlace = (error: LayerloomError, read: Pick<ReadRecipe, 'locate'>): LayerloomError => {
  const { recipePath } = error.context;
  if (recipePath === undefined) return error;
  return error.with({ place: read.locate(recipePath, error.code === 'USAGE' ? 'key' : 'value') });
};
