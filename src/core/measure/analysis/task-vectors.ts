import { LayerloomError } from '../../base/errors/errors.js';
import { emptyTable, itemAt } from '../../base/errors/lookup.js';
import {
  type ReducedTensor,
  type ReduceOptions,
  runReductions,
} from '../../engine/compute/measures/reduce.js';
import type { OpenedCheckpoint } from '../../plan/compile/inputs/models.js';
import { type PlannedReduction, rowsOf } from '../../plan/reports/reduction.js';
import type { Rows } from '../../tensor/rows.js';
import type { AnalysedModel, MavVectors, TensorRows } from './analysis.js';
import { doubtsOfBase } from './base-concerns.js';
import { type Overlap, overlapsOf } from './overlap.js';
import { type AnalysisPlan, type InLayers, planAnalysis } from './plan-analysis.js';

export interface TaskVectorOptions extends ReduceOptions, InLayers {
  /** Leaves out and counts rows with NaN or infinity, which otherwise throw NON_FINITE. Default false. */
  allowNonFinite?: boolean | undefined;
  /** Returns thresholds at which experts are also compared with each other. */
  thresholdsOfPairs?: ((experts: readonly MavVectors[]) => readonly number[]) | undefined;
  /** Also compares a sample of weights with the base's. Planning a merge does so by itself. */
  checkBase?: boolean | undefined;
  /** Called with the experts' names before weights are read. An error stops the analysis. */
  beforeReading?: ((experts: readonly string[]) => Promise<void>) | undefined;
}

/** The experts' MAVs by row. If `thresholdsOfPairs` was given, also the overlaps of pairs. */
export interface TaskVectors {
  readonly experts: readonly MavVectors[];
  readonly overlaps: readonly Overlap[];
  readonly bytesRead: number;
  readonly threads: number;
  readonly seconds: number;
  /** Reasons to doubt the base, with `checkBase`; also among `warnings`. */
  readonly doubts: readonly string[];
  readonly warnings: readonly string[];
}

/**
 * Computes the MAV of W_expert − W_base for all rows of 1-D and 2-D parameters (paper §3.2). Differences are
 * rounded to float32, sums are float64; the base is read once for all experts.
 *
 * @throws as `planAnalysis` and `runReductions`, NON_FINITE
 */
export const computeTaskVectors = async (
  base: string,
  models: readonly string[],
  rows: Rows,
  { thresholdsOfPairs, ...options }: TaskVectorOptions,
): Promise<TaskVectors> => {
  const plan = await planAnalysis(base, models, rows, options);
  await options.beforeReading?.(plan.experts.map(({ checkpoint }) => checkpoint.name));
  const reductions = { ...plan.reductions, pairs: plan.reductions.pairs && thresholdsOfPairs !== undefined };
  const { tensors: reduced, ...run } = await runReductions(
    reductions,
    options,
    ({ magnitudes, ...rest }, reduction) => ({ ...rest, rows: mavOf(reduction, magnitudes) }),
  );
  const warnings = [...plan.warnings, ...checkFinite(plan, reduced, options.allowNonFinite ?? false)];
  const experts = plan.experts.map((expert, index) => vectorsOf(plan, expert, index, reduced, rows));
  const doubts = options.checkBase ? await doubtsOfBase(plan.base, plan.experts, options) : [];
  warnings.push(...doubts);
  for (const { name, tensors } of experts)
    if (Object.values(tensors).every(({ meanMav }) => meanMav === 0))
      warnings.push(`${name} equals the base: its mean MAV is 0, and so it has no magnitude weight`);
  const overlaps = overlapsOf(reductions, reduced, experts, thresholdsOfPairs?.(experts) ?? []);
  return { experts, overlaps, ...run, doubts, warnings };
};

/**
 * Returns placeholders, from headers alone. In each matrix, MAVs rise from 0 to 1, so that a threshold
 * reverts some rows. They differ between experts, so that weights by magnitude differ.
 *
 * @throws as `planAnalysis`
 */
export const assumeTaskVectors = async (
  base: string,
  models: readonly string[],
  rows: Rows,
): Promise<MavVectors[]> => {
  const plan = await planAnalysis(base, models, rows);
  const assumed = plan.reductions.tensors.map((reduction) => {
    const [count, parametersPerRow] = rowsOf(reduction);
    const magnitudes = models.map((_, expert) =>
      Float64Array.from({ length: count }, (_value, row) => {
        const mav = row === 0 && count > 1 ? 0 : 10 ** (-9 * (1 - row / Math.max(1, count - 1)));
        return mav * parametersPerRow * (1 + (expert + 1) / 1024);
      }),
    );
    return { rows: mavOf(reduction, magnitudes) };
  });
  return plan.experts.map((expert, index) => vectorsOf(plan, expert, index, assumed, rows));
};

/**
 * @returns warnings
 * @throws NON_FINITE unless allowed
 */
const checkFinite = (
  { reductions, base, experts }: AnalysisPlan,
  reduced: readonly Pick<ReducedTensor, 'nonFinite'>[],
  allowed: boolean,
): string[] => {
  const models = [base, ...experts];
  const tensors = reductions.tensors.flatMap(({ name }, index) =>
    itemAt(reduced, index).nonFinite.flatMap((count, model) =>
      count === 0 ? [] : [{ tensor: name, model: itemAt(models, model).checkpoint.name, count }],
    ),
  );
  if (tensors.length === 0) return [];
  if (!allowed) throw new LayerloomError('NON_FINITE', { tensors });
  return tensors.map(
    ({ tensor, model, count }) =>
      `${tensor} of ${model}: ${count} elements are not finite; their rows are left out`,
  );
};

interface RowsOfTensor extends Pick<TensorRows, 'meanMav' | 'nonFiniteRows'> {
  readonly vector: Float32Array;
}

const mavOf = (reduction: PlannedReduction, magnitudes: readonly Float64Array[]): RowsOfTensor[] => {
  const [count, parametersPerRow] = rowsOf(reduction);
  return magnitudes.map((sums) => {
    let [total, nonFiniteRows] = [0, 0];
    const vector = new Float32Array(count);
    sums.forEach((sum, row) => {
      const mav = sum / parametersPerRow;
      if (Number.isFinite(mav)) total += mav;
      else nonFiniteRows += 1;
      vector[row] = Number.isFinite(mav) ? mav : Number.NaN;
    });
    const meanMav = nonFiniteRows < count ? total / (count - nonFiniteRows) : 0;
    return { vector, meanMav, nonFiniteRows };
  });
};

const vectorsOf = (
  { reductions, base }: AnalysisPlan,
  expert: OpenedCheckpoint,
  index: number,
  reduced: readonly { readonly rows: readonly RowsOfTensor[] }[],
  rows: Rows,
): MavVectors => {
  const tensors = emptyTable<TensorRows>();
  const vectors = new Map<string, Float32Array>();
  for (const [at, reduction] of reductions.tensors.entries()) {
    const [count, parametersPerRow] = rowsOf(reduction);
    const place = base.architecture.places.get(reduction.name);
    const { vector, meanMav, nonFiniteRows } = itemAt(itemAt(reduced, at).rows, index);
    vectors.set(reduction.name, vector);
    tensors[reduction.name] = {
      rows: count,
      parametersPerRow,
      layer: place?.layer ?? null,
      module: place?.module ?? reduction.name,
      meanMav,
      nonFiniteRows,
    };
  }
  return {
    name: expert.checkpoint.name,
    rows,
    base: modelOf(base),
    expert: modelOf(expert),
    family: base.architecture.family,
    layers: base.architecture.layers,
    tensors,
    vectors,
  };
};

const modelOf = ({ checkpoint: { name, path, files } }: OpenedCheckpoint): AnalysedModel => ({
  name,
  path,
  files,
});
