import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError } from '../../base/errors/errors.js';
import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { itemAt, valueAt } from '../../base/errors/lookup.js';
import type { ReduceOptions } from '../../engine/compute/measures/reduce.js';
import {
  type ComparedTensor,
  findTrimming,
  sumMagnitudes,
} from '../../engine/compute/measures/whole-models.js';
import {
  type NeededStatistics,
  noStatistics,
  type Statistics,
  type TaskVectorStatistics,
} from '../../methods/framework/declaration/method.js';
import { same } from '../../methods/framework/tensors/tensor-recipe.js';
import { mergedModels, type Recipe } from '../../methods/recipe/recipe.js';
import type { ModelInput } from '../../methods/recipes.js';
import { parseAddress } from '../../models/address/address.js';
import type { FileIdentity } from '../../models/checkpoint/checkpoint.js';
import { isBareAdapter } from '../../models/reading/read-model.js';
import { modelOpener } from '../../plan/compile/compose.js';
import type { StatisticsByRecipe } from '../../plan/compile/composed.js';
import { type OpenedModel, plannedInput } from '../../plan/compile/inputs/models.js';
import { type OpenedInputs, openInputs } from '../../plan/compile/inputs/opened-inputs.js';
import { openRecipeModels, type RecipeModels } from '../../plan/compile/inputs/recipe-models.js';
import { isFloating } from '../../tensor/dtype.js';
import { elementsOf } from '../../tensor/reference.js';
import type { Rows } from '../../tensor/rows.js';
import { type MavVectors, vectorsName } from './analysis.js';
import { openBaseAndExperts } from './plan-analysis.js';
import { assumeTaskVectors, computeTaskVectors } from './task-vectors.js';
import { readVectors } from './vectors-file.js';

export interface StatisticsOptions extends ReduceOptions {
  /** A directory of `analyze`, whose `NAME.mav.safetensors` are read instead of weights. */
  analysis?: string | undefined;
  /** Leaves out rows with NaN or infinity, which otherwise throw NON_FINITE. Default false. */
  allowNonFinite?: boolean | undefined;
}

export interface GatherOptions extends StatisticsOptions {
  /** Returns placeholders without reading weights, after all checks that need none. */
  assume?: boolean | undefined;
}

/**
 * Takes statistics from a saved analysis, or reads weights.
 *
 * @throws ANALYSIS_MISMATCH if a saved analysis is missing or of other files; the codes of
 * `computeTaskVectors`
 */
export const gatherStatistics = async (
  recipe: Recipe,
  found: StatisticsByRecipe,
  { analysis, ...options }: GatherOptions,
): Promise<Statistics> => {
  const { statistics: needed } = recipe;
  if (needed === undefined) return noStatistics;
  const { base, experts, what } = needed;
  const isNested = [base, ...experts].some((model) => typeof model !== 'string');
  if (await hasAdapters(mergedModels(recipe, experts))) {
    if (what.kind !== 'rows' || what.eachRow || isNested)
      throw new LayerloomError('NO_ADAPTER_FORM', {
        method: recipe.method,
        reason: 'it needs statistics of whole models',
      });
    const taskVectors = await taskVectorsOf(String(base), experts.map(String), what.rows, {
      analysis,
      ...options,
    });
    return { ...noStatistics, taskVectors };
  }
  if (what.kind === 'thresholds') {
    const { inputs, tensors } = await comparedTensors(recipe, found, base, experts);
    if (options.assume) return { ...noStatistics, thresholds: experts.map(() => 0) };
    const planned = inputs.checkpoints.map(plannedInput);
    return { ...noStatistics, ...(await findTrimming(planned, tensors, what.densities, options)) };
  }
  const { rows, eachRow } = what;
  if (isNested || (analysis === undefined && !eachRow && (await moveRows(recipe, found)))) {
    const taskVectors = await sumOperands(recipe, found, { base, experts, what }, options);
    return { ...noStatistics, taskVectors };
  }
  const taskVectors = await taskVectorsOf(String(base), experts.map(String), rows, { analysis, ...options });
  return {
    ...noStatistics,
    taskVectors: eachRow && rows === 'output' ? await ofAllRows(recipe, found, taskVectors) : taskVectors,
  };
};

const hasAdapters = async (models: readonly string[]): Promise<boolean> => {
  for (const model of models) if (await isBareAdapter(await parseAddress(model))) return true;
  return false;
};

const taskVectorsOf = async (
  base: string,
  experts: readonly string[],
  rows: Rows,
  { analysis, assume, ...options }: GatherOptions,
): Promise<readonly MavVectors[]> => {
  if (analysis !== undefined) return await readSaved(analysis, base, experts, rows);
  if (assume) return await assumeTaskVectors(base, experts, rows);
  return (await computeTaskVectors(base, experts, rows, options)).experts;
};

const recipeModelsIn = (
  recipe: Recipe,
  inputs: OpenedInputs,
  found: StatisticsByRecipe,
): Promise<RecipeModels> => openRecipeModels(recipe, modelOpener(recipe, inputs, found), inputs.session);

/** Extends MAVs to all rows of the output. Tokens that the base lacks get NaN, which no threshold reaches. */
const ofAllRows = async (
  recipe: Recipe,
  found: StatisticsByRecipe,
  taskVectors: readonly MavVectors[],
): Promise<TaskVectorStatistics[]> => {
  const { models } = await recipeModelsIn(recipe, await openInputs(recipe), found);
  const { tensors } = itemAt(models, 0).checkpoint;
  const resized = (name: string, vector: Float32Array): Float32Array => {
    const { shape } = valueAt(tensors, name);
    const rows = shape.length === 2 ? itemAt(shape, 0) : vector.length;
    if (rows === vector.length) return vector;
    const fitted = new Float32Array(rows).fill(Number.NaN);
    fitted.set(vector.subarray(0, rows));
    return fitted;
  };
  return taskVectors.map((of) => ({
    ...of,
    vectors: new Map([...of.vectors].map(([name, vector]) => [name, resized(name, vector)])),
  }));
};

const comparedTensors = async (
  recipe: Recipe,
  found: StatisticsByRecipe,
  base: ModelInput,
  experts: readonly ModelInput[],
): Promise<{ inputs: OpenedInputs; tensors: ComparedTensor[]; models: OpenedModel[] }> => {
  const inputs = await openInputs(recipe);
  const { models, companions } = await recipeModelsIn(recipe, inputs, found);
  return { inputs, ...tensorsOf(recipe, [...models, ...companions], [base, ...experts]) };
};

/** Returns the non-empty floating-point tensors that all wanted models have. */
const tensorsOf = (
  recipe: Recipe,
  opened: readonly OpenedModel[],
  [base, ...experts]: readonly ModelInput[],
): { tensors: ComparedTensor[]; models: OpenedModel[] } => {
  const references = [...recipe.models, ...recipe.companions];
  const models = [base, ...experts].map((model) =>
    itemAt(
      opened,
      references.findIndex((reference) => same(reference.model, model)),
    ),
  );
  const tensors: ComparedTensor[] = [];
  for (const [name, { dtype, shape }] of itemAt(models, 0).checkpoint.tensors) {
    const [origin, ...operands] = models.flatMap((model) => model.operandOf(name) ?? []);
    const isComparable =
      operands.length === experts.length &&
      isFloating(dtype) &&
      !shape.includes(0) &&
      operands.every((operand) => isFloating(operand.dtype));
    if (origin !== undefined && isComparable) tensors.push({ name, shape, base: origin, experts: operands });
  }
  return { tensors, models };
};

/** True if, in the recipe's vocabulary, models have rows that they do not store. */
const moveRows = async (recipe: Recipe, found: StatisticsByRecipe): Promise<boolean> => {
  const { vocabulary } = await recipeModelsIn(recipe, await openInputs(recipe), found);
  return vocabulary.models.some((model) => model.vocabulary !== undefined);
};

type ByRows = NeededStatistics & { readonly what: Extract<NeededStatistics['what'], { kind: 'rows' }> };

/**
 * Sums |Δ|, for the mean MAV of nested recipes and changed vocabularies. Only a revert by rows needs the MAV
 * of each row.
 *
 * @throws INVALID_PARAMETER for a revert by rows, NON_FINITE
 */
const sumOperands = async (
  recipe: Recipe,
  found: StatisticsByRecipe,
  { base, experts, what }: ByRows,
  { assume, ...options }: Omit<GatherOptions, 'analysis'>,
): Promise<TaskVectorStatistics[]> => {
  const { rows, eachRow } = what;
  if (eachRow)
    throw invalidParameter(
      'threshold',
      null,
      'only checkpoints, where rows are reverted; write an inner recipe out first',
    );
  const { inputs, tensors, models } = await comparedTensors(recipe, found, base, experts);
  const counted = tensors.filter(({ shape }) => shape.length === 1 || shape.length === 2);
  const sums = assume
    ? counted.map(({ shape }) =>
        Float64Array.from(experts, (_, at) => elementsOf(shape) * (1 + (at + 1) / 1024)),
      )
    : await sumMagnitudes(inputs.checkpoints.map(plannedInput), counted, options);
  return experts.map((_, expert): TaskVectorStatistics => {
    const entries = counted.map(({ name, shape }, index) => {
      const elements = elementsOf(shape);
      const count = shape.length === 1 ? 1 : itemAt(shape, rows === 'input' ? 1 : 0);
      const sum = itemAt(itemAt(sums, index), expert);
      const counts = Number.isFinite(sum);
      const meanMav = counts ? sum / elements : 0;
      return [
        name,
        { rows: count, parametersPerRow: elements / count, meanMav, nonFiniteRows: counts ? 0 : count },
      ] as const;
    });
    return {
      name: itemAt(models, expert + 1).checkpoint.name,
      base: { name: itemAt(models, 0).checkpoint.name },
      rows,
      tensors: Object.fromEntries(entries),
      vectors: new Map(),
    };
  });
};

/** @throws ANALYSIS_MISMATCH, the codes of `openBaseAndExperts` and `readVectors` */
const readSaved = async (
  analysis: string,
  base: string,
  experts: readonly string[],
  rows: Rows,
): Promise<MavVectors[]> => {
  const [openedBase, ...opened] = await openBaseAndExperts(base, experts);
  if (openedBase === undefined) throw new RangeError('openModels gave no base');
  return await Promise.all(
    opened.map(async ({ checkpoint }) => {
      const file = join(analysis, vectorsName(checkpoint.name));
      await access(file).catch((cause: unknown) => {
        throw new LayerloomError('ANALYSIS_MISMATCH', { file, reason: 'is not there' }, { cause });
      });
      const mav = await readVectors(file);
      const mismatch = mismatchOf(mav, rows, openedBase.checkpoint.files, checkpoint.files);
      if (mismatch !== undefined) throw new LayerloomError('ANALYSIS_MISMATCH', { file, reason: mismatch });
      return mav;
    }),
  );
};

/** True if sizes, modification times and headers are equal; paths may differ. */
export const sameFiles = (a: readonly FileIdentity[], b: readonly FileIdentity[]): boolean => {
  const keys = (files: readonly FileIdentity[]) =>
    files.map(({ bytes, mtimeNs, header, content }) => `${bytes} ${content ?? mtimeNs} ${header}`).sort();
  return keys(a).join() === keys(b).join();
};

const mismatchOf = (
  mav: MavVectors,
  rows: Rows,
  base: readonly FileIdentity[],
  expert: readonly FileIdentity[],
): string | undefined => {
  if (mav.rows !== rows) return `is by ${mav.rows} rows, and ${rows} rows are needed`;
  if (!sameFiles(mav.base.files, base))
    return 'was computed from another base, or the base has changed since';
  if (!sameFiles(mav.expert.files, expert))
    return 'was computed from another expert, or the expert has changed since';
  return undefined;
};
