import { resolve } from 'node:path';
import { patternsOf } from '../measure/partition/patterns.js';
import { readPartition } from '../measure/partition/read-partition.js';
import type { UncheckedRecipe } from '../methods/framework/declaration/unchecked-recipe.js';
import { modelsOf } from '../methods/recipe/model-places.js';
import { parseRecipe, type Recipe, withMethod } from '../methods/recipe/recipe.js';
import { splitName } from '../models/address/name.js';
import type { WrittenName } from '../models/quantisation/quantising.js';
import type { OutputForm } from '../plan/compile/adapters/output-forms.js';
import type { DtypeName } from '../tensor/dtype.js';
import { inForm } from './output-form.js';
import { withCheckpoints } from './run-checkpoints.js';

export interface RecipeOverrides {
  dtype?: DtypeName | undefined;
  as?: OutputForm | undefined;
  /** Maximum rank of a sum of adapter products. */
  rank?: number | undefined;
  quantize?: WrittenName | undefined;
  /** A directory with `config.json` and tokenizer, or that file, for models without them. */
  config?: string | undefined;
  /** Compute with NaN and infinity. Statistics of whole models exclude such rows. */
  allowNonFinite?: boolean | undefined;
  chatTemplate?: string | undefined;
  /** The output's vocabulary: `auto`, `strict`, `union`, `base`, or a model of the recipe (or its path). */
  tokenizer?: string | undefined;
}

/**
 * Checks a recipe and prepares it for planning. Parameters are checked last and once, because each step may
 * change the models.
 *
 * @param folder directory of a relative partition path; without it, such paths are refused
 * @throws as `parseRecipe`, `withCheckpoints` and `inForm`, PARTITION_INVALID
 */
export const settle = async (
  given: unknown,
  overrides: RecipeOverrides = {},
  folder?: string,
): Promise<Recipe> => {
  const written = withMethod(given).given;
  const chosen = withOverrides(written, overrides);
  const whole = folder === undefined ? chosen : await withParts(chosen, folder);
  const expanded = await withCheckpoints(whole);
  return parseRecipe(await inForm(expanded));
};

const withOverrides = (
  recipe: UncheckedRecipe,
  { dtype, as, rank, quantize, config, allowNonFinite, chatTemplate, tokenizer }: RecipeOverrides,
): UncheckedRecipe => {
  const given = Object.entries({ dtype, as, rank, quantize, config, allowNonFinite, chatTemplate });
  return {
    ...(tokenizer === undefined ? recipe : withTokenizer(recipe, tokenizer)),
    ...(dtype === undefined ? {} : { outDtype: undefined }),
    ...Object.fromEntries(given.filter(([, value]) => value !== undefined)),
  };
};

const withTokenizer = (recipe: UncheckedRecipe, source: string): UncheckedRecipe => {
  const { tokenizer, tokenizerSource: _former, ...rest } = recipe;
  const pathOf = (text: string) => resolve(splitName(text).rest);
  const texts = modelsOf(rest).filter((model) => typeof model === 'string');
  const model = texts.includes(source) ? source : texts.find((text) => pathOf(text) === pathOf(source));
  const chosen = model ?? source;
  if (tokenizer === undefined) return { ...rest, tokenizerSource: chosen };
  return { ...rest, tokenizer: typeof tokenizer === 'object' ? { ...tokenizer, source: chosen } : tokenizer };
};

/** Replaces a partition's path by its parts, so that the model card alone reproduces the merge. */
const withParts = async (recipe: UncheckedRecipe, folder: string): Promise<UncheckedRecipe> =>
  typeof recipe['partition'] === 'string'
    ? { ...recipe, partition: patternsOf(await readPartition(resolve(folder, recipe['partition']))) }
    : recipe;
