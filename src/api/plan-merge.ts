import { dirname, resolve } from 'node:path';
import { checkInterrupt, LayerloomError } from '../core/base/errors.js';
import { gatherStatistics, type StatisticsOptions } from '../core/measure/analysis/statistics.js';
import { patternsOf } from '../core/measure/partition/patterns.js';
import { readPartition } from '../core/measure/partition/read-partition.js';
import type { Statistics } from '../core/methods/framework/method.js';
import { readRecipe, withPlace, withWarnings } from '../core/methods/recipe/read-recipe.js';
import { parseRecipe, type Recipe } from '../core/methods/recipe/recipe.js';
import { isRecipeText } from '../core/methods/recipe/recipe-file.js';
import type { RecordedInputs } from '../core/methods/recipe/recorded-inputs.js';
import type { RecipeInput } from '../core/methods/recipes.js';
import { splitName } from '../core/models/address/name.js';
import { isObject } from '../core/models/checkpoint/json.js';
import type { WrittenName } from '../core/models/quantisation/quantising.js';
import { bringModels } from '../core/models/sources/bring-models.js';
import { inForm } from '../core/plan/compile/adapters/form.js';
import type { OutputForm } from '../core/plan/compile/adapters/output-forms.js';
import { checkRecorded } from '../core/plan/compile/check-recorded.js';
import { compose } from '../core/plan/compile/compose.js';
import type { StatisticsByRecipe } from '../core/plan/compile/composed.js';
import { type Explanation, explain } from '../core/plan/compile/explanation.js';
import { plannedInput } from '../core/plan/compile/inputs/models.js';
import {
  modelsIn,
  type OpenedInputs,
  observeInputs,
  openInputs,
} from '../core/plan/compile/inputs/opened-inputs.js';
import { withCheckpoints } from '../core/plan/compile/inputs/run-checkpoints.js';
import { type PlanOptions, planRecipe } from '../core/plan/compile/plan-recipe.js';
import { missingForPlan } from '../core/plan/missing-weights.js';
import type { MergePlan } from '../core/plan/plan.js';
import type { DtypeName } from '../core/tensor/dtype.js';

/** Options of planning, and of computing statistics first if a method needs them. */
export type MergePlanOptions = PlanOptions &
  Omit<StatisticsOptions, 'allowNonFinite'> & {
    /** The output's floating dtype; overrides the recipe's. */
    dtype?: DtypeName | undefined;
    /** The output's form; overrides the recipe's `as`. */
    as?: OutputForm | undefined;
    /** The largest rank of averaged adapter products; overrides the recipe's. */
    rank?: number | undefined;
    /** The output's quantisation scheme; overrides the recipe's. */
    quantize?: WrittenName | undefined;
    /**
     * Compute with NaN and infinity instead of refusing them. Statistics of whole models exclude rows that
     * contain them. Overrides the recipe's setting.
     */
    allowNonFinite?: boolean | undefined;
    /** The output's chat template, in the form of a recipe's `chatTemplate`, which it overrides. */
    chatTemplate?: string | undefined;
    /**
     * The output's vocabulary if the models' differ: `auto`, `strict`, `union`, `base` or one of the recipe's
     * models, as the recipe writes it or by its path; overrides the recipe's.
     */
    tokenizer?: string | undefined;
    /** Merge by a `layerloom.json` although inputs have changed since it was written. Default: false. */
    allowChanged?: boolean | undefined;
  };

/**
 * Plans a merge: opens the recipe's models, checks that they are compatible, and fixes every byte range of
 * the output. Reads only headers and small files, unless the method needs statistics of whole models
 * (`weights: 'magnitude'`, `revert` by rows, TIES as in its paper). Statistics are computed from the weights,
 * or read from `analysis`.
 *
 * @param input a recipe, or a text that begins with `{` and contains one; or the path of a YAML file in
 *   layerloom's or mergekit's dialect, of a model card (`README.md`), or of a merge's `layerloom.json`
 * @throws LayerloomError the codes of a recipe, a checkpoint, an incompatibility or an analysis, with file,
 *   line and column if the recipe is a file; INTERRUPTED; INPUT_NOT_AS_RECORDED if that is a
 *   `layerloom.json`, or a card beside one, and an input has changed since
 */
export const planMerge = (input: RecipeInput | string, options: MergePlanOptions = {}): Promise<MergePlan> =>
  withRecipe(input, options, async (recipe, recorded, ofRecipe) => {
    const { inputs, statistics, warnings } = await openFor(recipe, options, recorded);
    const plan = await planRecipe(recipe, options, statistics, inputs);
    const { bytes, models } = await missingForPlan(plan);
    // Reading headers does not poll the signal.
    checkInterrupt(options.signal);
    return {
      ...plan,
      ...(bytes === 0 ? {} : { download: { bytes, models } }),
      warnings: [...ofRecipe, ...warnings, ...plan.warnings],
    };
  });

/**
 * Explains how one tensor of a merge is computed.
 *
 * @throws LayerloomError INVALID_PARAMETER if the merge has no such tensor; the codes of `planMerge`
 */
export const explainTensor = (
  input: RecipeInput | string,
  tensor: string,
  options: MergePlanOptions = {},
): Promise<Explanation> =>
  withRecipe(input, options, async (recipe, recorded) => {
    const { inputs, statistics } = await openFor(recipe, options, recorded);
    return explain(await compose(recipe, inputs, statistics), tensor, inputs.checkpoints.map(plannedInput));
  });

/**
 * Parses a recipe or its file and calls `work` with it. Adds line, column and the file's warnings to errors.
 */
const withRecipe = async <T>(
  input: RecipeInput | string,
  options: MergePlanOptions,
  work: (recipe: Recipe, recorded: RecordedInputs | undefined, warnings: readonly string[]) => Promise<T>,
): Promise<T> => {
  const read = typeof input === 'string' ? await readRecipe(input) : undefined;
  const warnings = read?.warnings ?? [];
  if (options.strict && warnings[0] !== undefined) throw warnings[0].error;
  const given = read?.recipe ?? (input as RecipeInput);
  try {
    const folder = typeof input === 'string' && !isRecipeText(input) ? dirname(input) : '';
    const whole = await withParts(overridden(given as RecipeInput, options), folder);
    const recipe = parseRecipe(await inForm(await withCheckpoints(whole), options.as));
    return await work(
      recipe,
      read?.recorded,
      warnings.map(({ text }) => text),
    );
  } catch (error) {
    const placed = read !== undefined && error instanceof LayerloomError ? withPlace(error, read) : error;
    throw withWarnings(placed, warnings);
  }
};

/** Applies options to a recipe; `parseRecipe` refuses invalid recipes. */
const overridden = (
  recipe: RecipeInput,
  { dtype, rank, quantize, allowNonFinite, chatTemplate, tokenizer }: MergePlanOptions,
): RecipeInput => {
  if (!isObject(recipe)) return recipe;
  return {
    ...(tokenizer === undefined ? recipe : withTokenizer(recipe, tokenizer)),
    ...(dtype === undefined ? {} : { dtype, outDtype: undefined }),
    ...(rank === undefined ? {} : { rank }),
    ...(quantize === undefined ? {} : { quantize }),
    ...(allowNonFinite === undefined ? {} : { allowNonFinite }),
    ...(chatTemplate === undefined ? {} : { chatTemplate }),
  };
};

/**
 * Replaces a partition's path by its parts, so that the card alone reproduces the merge.
 *
 * @param folder base of the file's relative path
 * @throws LayerloomError READ_FAILED, PARTITION_INVALID
 */
const withParts = async (recipe: RecipeInput, folder: string): Promise<RecipeInput> =>
  isObject(recipe) && 'partition' in recipe && typeof recipe.partition === 'string'
    ? // Methods without a partition refuse it.
      ({
        ...recipe,
        partition: patternsOf(await readPartition(resolve(folder, recipe.partition))),
      } as RecipeInput)
    : recipe;

/** Returns the recipe with another `source` of its tokenizer. A model may be given by its path. */
const withTokenizer = (recipe: RecipeInput, source: string): RecipeInput => {
  const { models, companions } = parseRecipe({ ...recipe, tokenizerSource: undefined, tokenizer: undefined });
  const texts = [...models, ...companions].flatMap(({ model }) => (typeof model === 'string' ? [model] : []));
  const pathOf = (text: string) => resolve(splitName(text).rest);
  const model = texts.includes(source) ? source : texts.find((text) => pathOf(text) === pathOf(source));
  const { tokenizer } = recipe;
  const tokenizerSource = model ?? source;
  return tokenizer === undefined
    ? { ...recipe, tokenizerSource }
    : { ...recipe, tokenizerSource: undefined, tokenizer: { ...tokenizer, source: tokenizerSource } };
};

/**
 * Opens a recipe's models, fetching them from the hub if options say so. Checks them against the recorded
 * inputs and gathers the statistics that the recipe and nested recipes need.
 */
const openFor = async (
  recipe: Recipe,
  options: MergePlanOptions,
  recorded: RecordedInputs | undefined,
): Promise<{ inputs: OpenedInputs; statistics: StatisticsByRecipe; warnings: readonly string[] }> => {
  const statistics = new Map<Recipe, Statistics>();
  const warnings = await bringModels(modelsIn(recipe), options);
  // Opened first, so that a missing model is reported before any weight is read.
  const opened = await openInputs(recipe);
  if (recorded !== undefined && options.allowChanged !== true) await checkRecorded(opened, recorded);
  if (!needsStatistics(recipe)) return { inputs: opened, statistics, warnings };
  // File states are taken before the statistics: if a file changes after its statistics were read, the merge
  // is refused.
  const inputs = await observeInputs(opened);
  const { allowNonFinite } = recipe;
  const gather = async (of: Recipe): Promise<void> => {
    // Nested recipes first: the outer statistics are computed from their results.
    for (const inner of of.nested.values()) await gather(inner);
    if (of.statistics !== undefined)
      statistics.set(of, await gatherStatistics(of, statistics, { ...options, allowNonFinite }));
  };
  await gather(recipe);
  return { inputs, statistics, warnings };
};

const needsStatistics = (recipe: Recipe): boolean =>
  recipe.statistics !== undefined || [...recipe.nested.values()].some(needsStatistics);
