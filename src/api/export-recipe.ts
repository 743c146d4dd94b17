import { invalidParameter } from '../core/base/invalid-parameter.js';
import { recipeYaml } from '../core/methods/recipe/recipe-yaml.js';
import type { RecipeInput } from '../core/methods/recipes.js';
import { exportDialects } from '../core/plan/export/export-dialects.js';
import { mergekitRecipe } from '../core/plan/export/mergekit-recipe.js';
import { recipeFrom } from '../core/plan/export/own-recipe.js';
import { type MergePlanOptions, planMerge } from './plan-merge.js';

/** Options of `exportRecipe`. */
export interface ExportOptions extends MergePlanOptions {
  /** Default and only one: `mergekit`. */
  dialect?: (typeof exportDialects)[number] | undefined;
  /** The working directory of the program that will read it, from which local models are named. Default: this process's. */
  folder?: string | undefined;
}

/** A recipe in another dialect. */
export interface ExportedRecipe {
  /** YAML. */
  readonly text: string;
  /** Ways in which the other program's result differs; also comments of the text. */
  readonly notes: readonly string[];
}

/**
 * Writes a recipe in mergekit's dialect, where that can say it: whole models and layers with weights as `linear` (or
 * `passthrough`, where all are copies), methods that mergekit has by their names. The arithmetic is float32 and the
 * output has the dtype of ours, so that results are equal but for the sign of zeros and what docs/parity.md says of
 * the methods. Models are opened (headers only), since numbers of layers and found weights are written as numbers.
 *
 * @param input a recipe, or its file, as `planMerge` takes it
 * @throws LayerloomError EXPORT_UNSUPPORTED, naming what mergekit's dialect cannot say; INVALID_PARAMETER `dialect`; the
 *   codes of `planMerge`
 */
export const exportRecipe = async (
  input: RecipeInput | string,
  { dialect = 'mergekit', folder = '.', ...options }: ExportOptions = {},
): Promise<ExportedRecipe> => {
  if (!exportDialects.includes(dialect))
    throw invalidParameter('dialect', dialect, exportDialects.join(', '));
  const plan = await planMerge(input, options);
  const { recipe, notes } = mergekitRecipe(plan, recipeFrom(plan, folder));
  return { text: `${notes.map((note) => `# ${note}\n`).join('')}${recipeYaml(recipe)}\n`, notes };
};
