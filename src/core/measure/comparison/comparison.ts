import type { Dtype } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';
import type { QuantisationReport } from '../quantisation/quantisation-report.js';
import type { SideFileDifference } from './side-file-differences.js';

/** A model in a comparison. */
export interface ComparedModel {
  readonly name: string;
  /** Absolute path of the model. */
  readonly path: string;
  readonly family: string;
  readonly layers: number;
  readonly tensors: number;
  /** Elements of all tensors. */
  readonly parameters: number;
  readonly bytes: number;
}

/**
 * Differences of one tensor's elements, a in A and b in B, widened to float64. The maximum, means and
 * `relative` are over elements finite in both models. They are null without such elements, and for dtypes
 * that are not floating-point, whose bits alone are compared.
 */
export interface ElementDifferences {
  /**
   * Elements that differ as numbers: +0 equals −0, NaN equals NaN. For other dtypes than floating-point,
   * elements whose bits differ. Null for elements smaller than a byte.
   */
  readonly differing: number | null;
  /** Elements whose bits differ; null if the dtypes differ or elements are smaller than a byte. */
  readonly differingBits: number | null;
  /** Elements that are NaN or infinite in either model. */
  readonly nonFinite: number;
  /** max |a − b| */
  readonly max: number | null;
  /** Mean of |a − b|. */
  readonly mean: number | null;
  /** √ of the mean of (a − b)². */
  readonly rms: number | null;
  /** ‖a − b‖ / ‖a‖, Euclidean; also null if a is 0. */
  readonly relative: number | null;
  /** The first difference: in bits, or as a number if the dtypes differ. */
  readonly first: {
    /** Position in row-major order, from 0. */
    readonly index: number;
    /** Index in each dimension. */
    readonly position: readonly number[];
  };
}

/**
 * - `equal`: same dtype, shape and bytes.
 * - `sameValues`: equal numbers, in another dtype or other bits (−0, NaN).
 * - `differs`: at least one element differs.
 * - `otherDtype`, `otherShape`: elements cannot be compared.
 * - `onlyInA`, `onlyInB`: the other model lacks the tensor.
 */
export type TensorState =
  | 'equal'
  | 'sameValues'
  | 'differs'
  | 'otherDtype'
  | 'otherShape'
  | 'onlyInA'
  | 'onlyInB';

/** How a model stores a tensor. */
export interface StoredAs {
  readonly dtype: Dtype;
  readonly shape: Shape;
  /** Absolute path of the file. */
  readonly file: string;
}

/** The comparison of one tensor. */
export interface TensorComparison {
  readonly name: string;
  /** Layer number; null outside the layers. */
  readonly layer: number | null;
  /** The name after `layers.N.`, or the whole name outside the layers. */
  readonly module: string;
  readonly state: TensorState;
  /** The tensor in model `a`; null if the model lacks it. */
  readonly a: StoredAs | null;
  readonly b: StoredAs | null;
  /** Number of elements in A, or in B if A lacks the tensor. */
  readonly elements: number;
  /** The measured differences; null if all bits are equal, or elements cannot be compared. */
  readonly difference: ElementDifferences | null;
}

/** The comparison of two checkpoints. */
export interface Comparison {
  readonly a: ComparedModel;
  readonly b: ComparedModel;
  /** True if both have equal tensors, dtypes, shapes and bytes. */
  readonly equal: boolean;
  /** True if both have the same tensors and shapes, and all elements are equal numbers. */
  readonly sameValues: boolean;
  /** Tensors in A's order, then those only in B. */
  readonly tensors: readonly TensorComparison[];
  /** `config.json`, tokenizer and other files beside the weights. */
  readonly sideFiles: readonly SideFileDifference[];
  readonly bytesRead: number;
  readonly threads: number;
  readonly seconds: number;
  readonly warnings: readonly string[];
  /** If requested: how much of the change survives quantisation of both models. */
  readonly quantised?: QuantisationReport;
}
