import { valueAt } from '../../base/lookup.js';
import type { BaseConcern } from '../../methods/framework/method.js';
import { meanMavOf } from '../../methods/framework/parameters.js';
import type { FileIdentity } from '../../models/checkpoint/checkpoint.js';
import type { Rows } from '../../tensor/rows.js';

/** The paper's threshold for a math expert (Fig. 2): rows whose MAV is above it count as changed. */
export const defaultThreshold = 1e-5;

/** A model in an analysis: the base or an expert. */
export interface AnalysedModel {
  readonly name: string;
  readonly path: string;
  readonly files: readonly FileIdentity[];
}

/** Statistics of a tensor's rows that do not depend on the threshold. */
export interface TensorRows {
  readonly rows: number;
  readonly parametersPerRow: number;
  /** Layer number, or null outside the layers. */
  readonly layer: number | null;
  /** The name after `layers.N.`, or the whole name outside the layers. */
  readonly module: string;
  /** Mean of the finite rows' MAV, from float64 sums; 0 where no row is finite. */
  readonly meanMav: number;
  /** Number of rows with a NaN or an infinity; means and fractions exclude them. */
  readonly nonFiniteRows: number;
}

/** The task vector of an expert, row by row; analyses at any threshold are computed from it. */
export interface MavVectors {
  readonly name: string;
  readonly rows: Rows;
  readonly base: AnalysedModel;
  readonly expert: AnalysedModel;
  readonly family: string;
  /** Number of layers, L. */
  readonly layers: number;
  readonly tensors: Readonly<Record<string, TensorRows>>;
  /** MAV of each row of each tensor, rounded to float32; NaN for a row with a NaN or an infinity. */
  readonly vectors: ReadonlyMap<string, Float32Array>;
  /** Signs that the base is not the expert's; absent from saved vectors. */
  readonly concerns?: readonly BaseConcern[];
}

/** Returns the base name of an expert's files: its name with `/`, which hub names have, as `--`. */
export const fileName = (name: string): string => name.replaceAll('/', '--');

/** Returns the name of the file that `analyze` writes an expert's MAV vectors to. */
export const vectorsName = (name: string): string => `${fileName(name)}.mav.safetensors`;

/** One tensor of an expert: its rows, and the share of them above the threshold. */
export interface TensorAnalysis extends TensorRows {
  /** Share of the finite rows whose MAV is above the threshold; 0 where no row is finite. */
  readonly fractionAbove: number;
}

/** The analysis of one expert at one threshold (paper §3.2): the content of `NAME.json`. */
export interface Analysis {
  readonly name: string;
  readonly rows: Rows;
  readonly threshold: number;
  /** Mean MAV over all finite rows of all tensors, each row with the same weight. */
  readonly meanMav: number;
  /** The expert's magnitude-adjusted weight (paper §5), 1 / meanMav; null where nothing changed. */
  readonly inverseMav: number | null;
  readonly base: AnalysedModel;
  readonly expert: AnalysedModel;
  readonly family: string;
  readonly layers: number;
  readonly tensors: Readonly<Record<string, TensorAnalysis>>;
}

/** Counts the rows whose MAV is above the threshold; a NaN is not. */
export const countAbove = (vector: Float32Array, threshold: number): number => {
  let count = 0;
  for (const mav of vector) if (mav > threshold) count += 1;
  return count;
};

/**
 * Computes the analysis at a threshold from the MAV vectors: exact, since a row's MAV is defined as its
 * float32 value.
 */
export const analyseAt = (mav: MavVectors, threshold: number): Analysis => {
  const { vectors, tensors, concerns: _concerns, ...rest } = mav;
  const meanMav = meanMavOf(Object.values(tensors));
  return {
    ...rest,
    threshold,
    meanMav,
    inverseMav: meanMav > 0 ? 1 / meanMav : null,
    tensors: Object.fromEntries(
      Object.entries(tensors).map(([name, tensor]) => {
        const finite = tensor.rows - tensor.nonFiniteRows;
        const above = countAbove(valueAt(vectors, name), threshold);
        return [name, { ...tensor, fractionAbove: finite > 0 ? above / finite : 0 }];
      }),
    ),
  };
};
