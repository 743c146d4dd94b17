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

/** Options of planning, and of the stage before it that computes statistics, where a method needs them. */
export type MergePlanOptions = PlanOptions &
  Omit<StatisticsOptions, 'allowNonFinite'> & {
    /** The output's floating dtype; overrides the recipe's. */
    dtype?: DtypeName | undefined;
    /** The output's form; overrides the recipe's `as`. */
    as?: OutputForm | undefined;
    /** The rank of averaged products of an adapter, at most; overrides the recipe's. */
    rank?: number | undefined;
    /** The scheme that the output is quantised in; overrides the recipe's. */
    quantize?: WrittenName | undefined;
    /**
     * Compute with values that are NaN or infinite instead of refusing them; in statistics of whole models, rows that have
     * some are left out. Overrides the recipe's.
     */
    allowNonFinite?: boolean | undefined;
    /** The output's chat template, as a recipe's `chatTemplate`; overrides the recipe's. */
    chatTemplate?: string | undefined;
    /**
     * The output's vocabulary where the models differ in theirs: `auto`, `strict`, `union`, `base` or one of the
     * recipe's models, as the recipe writes it or by its path; goes before the recipe's.
     */
    tokenizer?: string | undefined;
    /** Merge by a `layerloom.json` although inputs have changed since it was written. Default false. */
    allowChanged?: boolean | undefined;
  };

/**
 * Plans a merge: opens the recipe's models, checks that they are compatible, and fixes every byte range of
 * the output. Reads only headers and small files, unless the method needs statistics of whole models
 * (`weights: 'magnitude'`, `revert` by rows, TIES as in its paper): these are computed from the weights, or
 * read from `analysis`.
 *
 * @param input a recipe; or the path of its YAML file in layerloom's or mergekit's dialect, of a model card
 *   (`README.md`), or of a merge's `layerloom.json`; or a text that begins with `{`, the recipe itself
 * @throws LayerloomError the codes of a recipe, a checkpoint, an incompatibility or an analysis, with file,
 *   line and column where the recipe is a file; INPUT_NOT_AS_RECORDED where that is a `layerloom.json`, or a
 *   card beside one, and an input has changed since; INTERRUPTED
 */
export const planMerge = (input: RecipeInput | string, options: MergePlanOptions = {}): Promise<MergePlan> =>
  withRecipe(input, options, async (recipe, recorded, ofRecipe) => {
    const { inputs, statistics, warnings } = await openFor(recipe, options, recorded);
    const plan = await planRecipe(recipe, options, statistics, inputs);
    const { bytes, models } = await missingForPlan(plan);
    // Checked here, since reading headers does not poll the signal.
    checkInterrupt(options.signal);
    return {
      ...plan,
      ...(bytes === 0 ? {} : { download: { bytes, models } }),
      warnings: [...ofRecipe, ...warnings, ...plan.warnings],
    };
  });

/**
 * Explains how one tensor of a merge is made.
 *
 * @throws LayerloomError INVALID_PARAMETER where the merge has no such tensor; the codes of `planMerge`
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
 * Parses a recipe or its file, calls `work` with it and the warnings of its file, and adds line and column of the
 * file and these warnings to errors of both.
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

/** Returns a recipe with what options say in its place; `parseRecipe` refuses what is no recipe. */
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
 * Returns a recipe with a partition's parts in the place of its file, so that its card alone makes the merge again.
 *
 * @param folder from which the file's path goes
 * @throws LayerloomError READ_FAILED, PARTITION_INVALID
 */
const withParts = async (recipe: RecipeInput, folder: string): Promise<RecipeInput> =>
  isObject(recipe) && 'partition' in recipe && typeof recipe.partition === 'string'
    ? // Methods without a partition refuse theirs.
      ({
        ...recipe,
        partition: patternsOf(await readPartition(resolve(folder, recipe.partition))),
      } as RecipeInput)
    : recipe;

/** Returns a recipe with another source of its tokenizer; a model may be given by its path. */
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
 * Opens a recipe's models, fetched from the hub where the options say so, checks them against those that its file
 * records, and gathers the statistics that it and its nested recipes need.
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
  // File states are taken before the statistics: the merge is refused if a file changes after its statistics
  // were read.
  const inputs = await observeInputs(opened);
  const { allowNonFinite } = recipe;
  const gather = async (of: Recipe): Promise<void> => {
    // Statistics of nested recipes come first, since those of the outer one are computed from their results.
    for (const inner of of.nested.values()) await gather(inner);
    if (of.statistics !== undefined)
      statistics.set(of, await gatherStatistics(of, statistics, { ...options, allowNonFinite }));
  };
  await gather(recipe);
  return { inputs, statistics, warnings };
};

const needsStatistics = (recipe: Recipe): boolean =>
  recipe.statistics !== undefined || [...recipe.nested.values()].some(needsStatistics);
