import { access } from 'node:fs/promises';
import { join } from 'node:path';
import type { FileIdentity } from '../checkpoint/checkpoint.js';
import type { ReduceOptions } from '../engine/compute/reduce.js';
import { type ComparedTensor, findTrimming, sumMagnitudes } from '../engine/compute/whole-models.js';
import { LayerloomError } from '../errors.js';
import {
  type NeededStatistics,
  noStatistics,
  type Statistics,
  type TaskVectorStatistics,
} from '../methods/framework/method.js';
import type { ModelInput } from '../methods/recipes.js';
import { modelOpener, type OpenedInputs, openInputs, type StatisticsByRecipe } from '../plan/compose.js';
import { type OpenedModel, openModels, plannedInput } from '../plan/models.js';
import type { Recipe } from '../recipe/recipe.js';
import { isFloating } from '../tensor/dtype.js';
import { elementCount } from '../tensor/reference.js';
import { type MavVectors, vectorsName } from './analysis.js';
import { computeTaskVectors } from './task-vectors.js';
import { readVectors } from './vectors-file.js';

export interface StatisticsOptions extends ReduceOptions {
  /** A directory that `analyze` wrote, from whose `NAME.mav.safetensors` the task vectors are read instead of weights. */
  analysis?: string | undefined;
}

/**
 * What a recipe's method must know of whole models: from a saved analysis where one is given, else measured, as a first stage of the merge.
 *
 * @param found what the recipes in it must know
 * @throws LayerloomError ANALYSIS_MISMATCH where a saved analysis is of other files; the codes of `computeTaskVectors`
 */
export const gatherStatistics = async (
  recipe: Recipe,
  found: StatisticsByRecipe,
  { analysis, ...options }: StatisticsOptions,
): Promise<Statistics> => {
  const { statistics: needed } = recipe;
  if (needed === undefined) return noStatistics;
  const { base, experts, what } = needed;
  if (what.kind === 'thresholds') {
    const { inputs, tensors } = await comparedTensors(recipe, found, base, experts);
    const planned = inputs.checkpoints.map(plannedInput);
    return { ...noStatistics, ...(await findTrimming(planned, tensors, what.densities, options)) };
  }
  const paths = [base, ...experts].filter((model) => typeof model === 'string');
  if (paths.length <= experts.length)
    return { ...noStatistics, taskVectors: await ofRecipes(recipe, found, { base, experts, what }, options) };
  const [baseModel = '', ...models] = paths;
  const taskVectors =
    analysis === undefined
      ? (
          await computeTaskVectors(
            baseModel,
            models,
            { rows: what.rows, threshold: 0 },
            { ...options, pairs: false },
          )
        ).experts
      : await readSaved(analysis, baseModel, models, what.rows);
  return { ...noStatistics, taskVectors };
};

/** Every floating tensor as a base and experts have it, which may be recipes. */
const comparedTensors = async (
  recipe: Recipe,
  found: StatisticsByRecipe,
  base: ModelInput,
  experts: readonly ModelInput[],
): Promise<{ inputs: OpenedInputs; tensors: ComparedTensor[]; models: OpenedModel[] }> => {
  const inputs = await openInputs(recipe);
  const open = modelOpener(recipe, inputs, found);
  const models = await Promise.all(
    [base, ...experts].map((model, index) => open({ role: index === 0 ? 'base' : 'expert', model })),
  );
  const [first, ...others] = models;
  const tensors: ComparedTensor[] = [];
  for (const [name, { dtype, shape }] of first?.checkpoint.tensors ?? []) {
    const operands = others.map((model) => model.operandOf(name));
    const origin = first?.operandOf(name);
    const isComparable =
      isFloating(dtype) &&
      elementCount(shape) !== 0 &&
      operands.every((operand) => operand !== undefined && isFloating(operand.dtype));
    if (origin !== undefined && isComparable)
      tensors.push({
        name,
        shape,
        base: origin,
        experts: operands as Exclude<(typeof operands)[number], undefined>[],
      });
  }
  return { inputs, tensors, models };
};

type ByRows = NeededStatistics & { readonly what: Extract<NeededStatistics['what'], { kind: 'rows' }> };

/**
 * Mean MAV of what recipes make: Σ |Δ| of a tensor over the parameters of a row is the sum of its rows' MAV. Of each row by itself nothing is known,
 * which only reverting by rows asks for.
 *
 * @throws LayerloomError INVALID_PARAMETER where rows are asked for, NON_FINITE
 */
const ofRecipes = async (
  recipe: Recipe,
  found: StatisticsByRecipe,
  { base, experts, what }: ByRows,
  options: ReduceOptions,
): Promise<TaskVectorStatistics[]> => {
  const { rows, eachRow } = what;
  if (eachRow)
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'threshold',
      value: null,
      expected: 'a model that is a checkpoint, where rows are reverted; write the inner recipe out first',
    });
  const { inputs, tensors, models } = await comparedTensors(recipe, found, base, experts);
  const counted = tensors.filter(({ shape }) => shape.length === 1 || shape.length === 2);
  const sums = await sumMagnitudes(inputs.checkpoints.map(plannedInput), counted, options);
  return experts.map((_, expert): TaskVectorStatistics => {
    const entries = counted.map(({ name, shape }, index) => {
      const elements = elementCount(shape) ?? 0;
      const count = shape.length === 1 ? 1 : (shape[rows === 'input' ? 1 : 0] ?? 1);
      const sum = sums[index]?.[expert] ?? 0;
      const model = models[expert + 1]?.checkpoint.name ?? '';
      if (!Number.isFinite(sum))
        throw new LayerloomError('NON_FINITE', { tensors: [{ tensor: name, model, count: 1 }] });
      return [
        name,
        { rows: count, parametersPerRow: elements / count, meanMav: sum / elements, nonFiniteRows: 0 },
      ] as const;
    });
    return {
      name: models[expert + 1]?.checkpoint.name ?? '',
      base: { name: models[0]?.checkpoint.name ?? '' },
      rows,
      tensors: Object.fromEntries(entries),
      vectors: new Map(),
    };
  });
};

const readSaved = async (
  analysis: string,
  base: string,
  experts: readonly string[],
  rows: string,
): Promise<MavVectors[]> => {
  const [openedBase, ...opened] = await openModels([
    { role: 'base', model: base },
    ...experts.map((model) => ({ role: 'expert', model })),
  ]);
  return await Promise.all(
    opened.map(async ({ checkpoint }) => {
      const file = join(analysis, vectorsName(checkpoint.name));
      await access(file).catch((cause: unknown) => {
        throw new LayerloomError('ANALYSIS_MISMATCH', { file, reason: 'is not there' }, { cause });
      });
      const mav = await readVectors(file);
      const mismatch = mismatchOf(mav, rows, openedBase?.checkpoint.files ?? [], checkpoint.files);
      if (mismatch !== undefined) throw new LayerloomError('ANALYSIS_MISMATCH', { file, reason: mismatch });
      return mav;
    }),
  );
};

const same = (a: readonly FileIdentity[], b: readonly FileIdentity[]): boolean => {
  const keys = (files: readonly FileIdentity[]) =>
    files.map(({ bytes, mtimeNs, header }) => `${bytes} ${mtimeNs} ${header}`).sort();
  return keys(a).join() === keys(b).join();
};

const mismatchOf = (
  mav: MavVectors,
  rows: string,
  base: readonly FileIdentity[],
  expert: readonly FileIdentity[],
): string | undefined => {
  if (mav.rows !== rows) return `is by ${mav.rows} rows, and ${rows} rows are needed`;
  if (!same(mav.base.files, base)) return `was taken from another base, or the base was written since`;
  if (!same(mav.expert.files, expert)) return `is of another expert, or the expert was written since`;
  return undefined;
};
