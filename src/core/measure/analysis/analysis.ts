import { valueAt } from '../../base/errors/lookup.js';
import { meanMavOf } from '../../methods/framework/declaration/parameters.js';
import type { FileIdentity } from '../../models/checkpoint/checkpoint.js';
import type { Rows } from '../../tensor/rows.js';

/** The paper's threshold for a math expert (Fig. 2). */
export const defaultThreshold = 1e-5;

/** A model in an analysis: the base or an expert. */
export interface AnalysedModel {
  readonly name: string;
  readonly path: string;
  readonly files: readonly FileIdentity[];
}

/** Facts of a tensor that do not depend on thresholds. */
export interface TensorRows {
  readonly rows: number;
  readonly parametersPerRow: number;
  readonly layer: number | null;
  /** The name after `layers.N.`; outside the layers the whole name. */
  readonly module: string;
  /** Mean MAV of the finite rows, from float64 sums; 0 without such rows. */
  readonly meanMav: number;
  /** Number of rows with NaN or infinity, which means and fractions leave out. */
  readonly nonFiniteRows: number;
}

/** An expert's MAVs by row, for analyses at any threshold. */
export interface MavVectors {
  readonly name: string;
  readonly rows: Rows;
  readonly base: AnalysedModel;
  readonly expert: AnalysedModel;
  readonly family: string;
  readonly layers: number;
  readonly tensors: Readonly<Record<string, TensorRows>>;
  /** MAV of each row, in float32; NaN for a row with NaN or infinity. */
  readonly vectors: ReadonlyMap<string, Float32Array>;
}

/** Makes a file name; hub names have a `/`. */
export const fileName = (name: string): string => name.replaceAll('/', '--');

export const vectorsName = (name: string): string => `${fileName(name)}.mav.safetensors`;

/** Facts of a tensor's rows at a threshold. */
export interface TensorAnalysis extends TensorRows {
  /** Share of finite rows with a MAV above the threshold; 0 without finite rows. */
  readonly fractionAbove: number;
}

/** An expert's analysis at one threshold (paper §3.2): the content of `NAME.json`. */
export interface Analysis {
  readonly name: string;
  readonly rows: Rows;
  readonly threshold: number;
  /** Mean MAV over all finite rows. */
  readonly meanMav: number;
  /** 1 / meanMav, the magnitude-adjusted weight (paper §5); null if nothing changed. */
  readonly inverseMav: number | null;
  readonly base: AnalysedModel;
  readonly expert: AnalysedModel;
  readonly family: string;
  readonly layers: number;
  readonly tensors: Readonly<Record<string, TensorAnalysis>>;
}

export const countAbove = (vector: Float32Array, threshold: number): number => {
  let count = 0;
  for (const mav of vector) if (mav > threshold) count += 1;
  return count;
};

/** Analyses an expert at a threshold. Exact, because MAVs are float32 by definition. */
export const analyseAt = (mav: MavVectors, threshold: number): Analysis => {
  const { vectors, tensors, ...rest } = mav;
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
