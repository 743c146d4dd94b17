import type { Dtype } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';
import type { QuantisationReport } from '../quantisation/quantisation-report.js';
import type { SideFileDifference } from './side-file-differences.js';

/** A model in a comparison. */
export interface ComparedModel {
  readonly name: string;
  readonly path: string;
  readonly family: string;
  readonly layers: number;
  readonly tensors: number;
  /** Elements of all tensors. */
  readonly parameters: number;
  readonly bytes: number;
}

/**
 * How a tensor's elements differ, a in A and b in B, in float64. `max`, `mean`, `rms` and `relative` cover elements
 * that are finite in both models; null without such elements, and for dtypes compared only by bits.
 */
export interface ElementDifferences {
  /**
   * Number of elements that differ as numbers: +0 equals −0, NaN equals NaN. For dtypes that are not
   * floating-point, counts different bits. Null for elements smaller than a byte.
   */
  readonly differing: number | null;
  /** Number of elements whose bits differ; null if dtypes differ or elements are smaller than a byte. */
  readonly differingBits: number | null;
  readonly nonFinite: number;
  /** max |a − b| */
  readonly max: number | null;
  /** Mean of |a − b|. */
  readonly mean: number | null;
  /** Root mean square of a − b. */
  readonly rms: number | null;
  /** ‖a − b‖/‖a‖; also null if a is 0. */
  readonly relative: number | null;
  /** The first element that differs: in its bits, or as a number if dtypes differ. */
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
  readonly file: string;
}

/** The comparison of one tensor. */
export interface TensorComparison {
  readonly name: string;
  readonly layer: number | null;
  /** The name after `layers.N.`; outside the layers the whole name. */
  readonly module: string;
  readonly state: TensorState;
  /** The tensor in model `a`; null if missing. */
  readonly a: StoredAs | null;
  readonly b: StoredAs | null;
  /** Number of elements in A, or in B if A lacks the tensor. */
  readonly elements: number;
  /** Measured differences; null if all bits are equal or elements cannot be compared. */
  readonly difference: ElementDifferences | null;
}

/** The comparison of two checkpoints. */
export interface Comparison {
  readonly a: ComparedModel;
  readonly b: ComparedModel;
  /** True if all tensors are equal in dtype, shape and bytes. */
  readonly equal: boolean;
  /** True if tensors and shapes are equal, and all elements as numbers. */
  readonly sameValues: boolean;
  /** Tensors in A's order, then those only in B. */
  readonly tensors: readonly TensorComparison[];
  /** `config.json`, tokenizer and other files beside the weights. */
  readonly sideFiles: readonly SideFileDifference[];
  readonly bytesRead: number;
  readonly threads: number;
  readonly seconds: number;
  readonly warnings: readonly string[];
  /** How much of the change survives quantisation of both models, if requested. */
  readonly quantised?: QuantisationReport;
}
