import { invalidParameter } from '../core/base/errors/invalid-parameter.js';
import { recipeYaml } from '../core/methods/recipe/document/recipe-yaml.js';
import type { RecipeInput } from '../core/methods/recipes.js';
import { exportDialects } from '../core/plan/export/export-dialects.js';
import { checkFolders } from '../core/plan/export/mergekit-folders.js';
import { mergekitRecipe } from '../core/plan/export/mergekit-recipe.js';
import { type MergePlanOptions, planMerge } from './plan-merge.js';

export interface ExportOptions extends MergePlanOptions {
  /** Dialect to write; only `mergekit`, the default, is supported. */
  dialect?: (typeof exportDialects)[number] | undefined;
  /** Working directory of the program that reads the recipe, for relative paths; default: this process's. */
  folder?: string | undefined;
}

/** Recipe in another dialect. */
export interface ExportedRecipe {
  readonly text: string;
  /** Differences of mergekit's result. The exported text contains these notes as comments. */
  readonly notes: readonly string[];
}

/**
 * Writes a recipe in mergekit's dialect if that can express it. Whole models and layers with weights become
 * `linear` (or `passthrough`, if all are copies); mergekit's methods keep their names. Arithmetic is float32
 * and the output has our dtype, so results are equal except for the sign of zeros and the differences in
 * docs/parity.md. Opens models' headers, because numbers of layers and computed weights are written as
 * numbers.
 *
 * @param input a recipe, or its file, as for `planMerge`
 * @throws LayerloomError EXPORT_UNSUPPORTED, naming a part that mergekit's dialect lacks; INVALID_PARAMETER
 * `dialect`; the codes of `planMerge`
 */
export const exportRecipe = async (
  input: RecipeInput | string,
  { dialect = 'mergekit', folder = '.', ...options }: ExportOptions = {},
): Promise<ExportedRecipe> => {
  if (!exportDialects.includes(dialect))
    throw invalidParameter('dialect', dialect, exportDialects.join(', '));
  const plan = await planMerge(input, options);
  const { recipe, notes } = mergekitRecipe(plan, folder);
  await checkFolders(plan.inputs);
  return {
    text: `${notes.map((note) => `# ${note}\n`).join('')}${recipeYaml(recipe)}\n`,
    notes,
  };
};
