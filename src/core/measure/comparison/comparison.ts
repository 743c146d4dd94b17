import type { Dtype } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';
import type { QuantisationReport } from '../quantisation/quantisation-report.js';
import type { SideFileDifference } from './side-file-differences.js';

/** A model in a comparison. */
export interface ComparedModel {
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly family: string;
  /** Number of layers. */
  readonly layers: number;
  readonly tensors: number;
  /** Elements of all tensors. */
  readonly parameters: number;
  /** Bytes of all tensors. */
  readonly bytes: number;
}

/**
 * Differences of the elements of one tensor, a in A and b in B, each widened to float64. The maximum, the means
 * and `relative` are over elements that are finite in both models; they are null where there is no such element,
 * and for dtypes that are not floating, whose bits alone are compared.
 */
export interface ElementDifferences {
  /**
   * Elements that differ as numbers: +0 equals −0, and NaN equals NaN. Of dtypes that are not floating: whose bits
   * differ. Null for elements of less than a byte.
   */
  readonly differing: number | null;
  /** Elements whose bits differ; null where the dtypes do, and for elements of less than a byte. */
  readonly differingBits: number | null;
  /** Elements that are NaN or infinite in A or in B. */
  readonly nonFinite: number;
  /** max |a − b| */
  readonly max: number | null;
  /** Mean of |a − b|. */
  readonly mean: number | null;
  /** √ of the mean of (a − b)². */
  readonly rms: number | null;
  /** ‖a − b‖ / ‖a‖ in the Euclidean norm; also null where a is 0. */
  readonly relative: number | null;
  /** The first element that differs: in its bits, or as a number where the dtypes differ. */
  readonly first: {
    /** In row-major order, from 0 on. */
    readonly index: number;
    /** An index for each dimension. */
    readonly position: readonly number[];
  };
}

/**
 * - `equal`: same dtype, shape and bytes.
 * - `sameValues`: every element is the same number, in another dtype or in other bits (−0, NaN).
 * - `differs`: in at least one element.
 * - `otherDtype`, `otherShape`: elements cannot be compared.
 * - `onlyInA`, `onlyInB`: the other model has no tensor of that name.
 */
export type TensorState =
  | 'equal'
  | 'sameValues'
  | 'differs'
  | 'otherDtype'
  | 'otherShape'
  | 'onlyInA'
  | 'onlyInB';

/** The form in which a model stores a tensor. */
export interface StoredAs {
  readonly dtype: Dtype;
  readonly shape: Shape;
  /** Absolute. */
  readonly file: string;
}

/** The comparison of one tensor. */
export interface TensorComparison {
  readonly name: string;
  /** Layer number, or null outside the layers. */
  readonly layer: number | null;
  /** The name after `layers.N.`, or the whole name outside the layers. */
  readonly module: string;
  readonly state: TensorState;
  /** Null in the model that lacks the tensor. */
  readonly a: StoredAs | null;
  readonly b: StoredAs | null;
  /** Number of elements: A's, or B's where A lacks the tensor. */
  readonly elements: number;
  /** Null where no element differs in its bits, and where elements cannot be compared. */
  readonly difference: ElementDifferences | null;
}

/** The comparison of two checkpoints. */
export interface Comparison {
  readonly a: ComparedModel;
  readonly b: ComparedModel;
  /** True if both have the same tensors with the same dtypes, shapes and bytes. */
  readonly equal: boolean;
  /** True if both have the same tensors with the same shapes, and every element is the same number. */
  readonly sameValues: boolean;
  /** In the order of A, then those that only B has. */
  readonly tensors: readonly TensorComparison[];
  /** `config.json`, tokenizer and other files beside the weights. */
  readonly sideFiles: readonly SideFileDifference[];
  /** Bytes of weights that were read. */
  readonly bytesRead: number;
  readonly threads: number;
  readonly seconds: number;
  readonly warnings: readonly string[];
  /** Where it was asked for: how much of the change is left once both models are quantised. */
  readonly quantised?: QuantisationReport;
}
