import type { FileIdentity } from '../checkpoint/checkpoint.js';
import { meanMavOf } from '../methods/framework/parameters.js';
import type { Rows } from '../tensor/rows.js';

/** The paper's threshold for a math expert (Fig. 2): rows whose MAV is above it count as changed. */
export const defaultThreshold = 1e-5;

/** A model that an analysis speaks of. */
export interface AnalysedModel {
  readonly name: string;
  readonly path: string;
  readonly files: readonly FileIdentity[];
}

/** What is known of a tensor's rows, whatever the threshold. */
export interface TensorRows {
  /** How many rows, and how many parameters each. */
  readonly rows: number;
  readonly parametersPerRow: number;
  /** Layer number, or null outside the layers. */
  readonly layer: number | null;
  /** The name behind `layers.N.`, or the whole name outside the layers. */
  readonly module: string;
  /** The mean over the rows of their MAV: from float64 sums. */
  readonly meanMav: number;
  /** Rows with a NaN or an infinity, which means and fractions leave out. */
  readonly nonFiniteRows: number;
}

/** The task vector of an expert, row by row: all that an analysis at any threshold needs. */
export interface MavVectors {
  readonly name: string;
  readonly rows: Rows;
  readonly base: AnalysedModel;
  readonly expert: AnalysedModel;
  readonly family: string;
  /** L. */
  readonly layers: number;
  readonly tensors: Readonly<Record<string, TensorRows>>;
  /** MAV of each row of each tensor, rounded to float32; NaN for a row with a NaN or an infinity. */
  readonly vectors: ReadonlyMap<string, Float32Array>;
}

/** How an expert's files are named. A hub name has a slash. */
export const fileName = (name: string): string => name.replaceAll('/', '--');

/** The file that `analyze` writes an expert's vectors to. */
export const vectorsName = (name: string): string => `${fileName(name)}.mav.safetensors`;

export interface TensorAnalysis extends TensorRows {
  /** The share of rows whose MAV is above the threshold. */
  readonly fractionAbove: number;
}

/** What `analyze` says of an expert (paper §3.2). */
export interface Analysis {
  readonly name: string;
  readonly rows: Rows;
  readonly threshold: number;
  /** Mean MAV over all rows of all tensors, every row counting once. */
  readonly meanMav: number;
  /** 1 / meanMav: the expert's magnitude-adjusted weight (paper §5). Null where nothing changed. */
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

/** Reads an analysis at a threshold off the vectors: exactly, since a row's MAV is its float32 number. */
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
        const above = countAbove(vectors.get(name) ?? new Float32Array(), threshold);
        return [name, { ...tensor, fractionAbove: finite > 0 ? above / finite : 0 }];
      }),
    ),
  };
};
