import type { BlockForm } from './block-form.js';
import { bitsOf, type Dtype } from './dtype.js';
import type { QuantisedForm } from './quantised-form.js';

/** Sizes of a tensor's dimensions; none for a scalar. */
export type Shape = readonly number[];

/**
 * The location of a tensor's bytes; they are not read. `begin` and `end` are offsets from the start of the
 * file.
 */
export interface TensorReference {
  /** Index in the files of its checkpoint. */
  readonly file: number;
  readonly begin: number;
  readonly end: number;
  readonly dtype: Dtype;
  readonly shape: Shape;
  /**
   * A change that an adapter makes: the tensor is what that makes of these bytes, rounded to `dtype`. Its bytes alone are
   * not its value.
   */
  readonly change?: TensorChange;
  /**
   * How its values are made, where it is stored quantised. `begin` and `end` are then those of its codes, `shape` is that of
   * the values, and `dtype` that of an output.
   */
  readonly quantised?: QuantisedForm<TensorReference>;
  /** How its values are made where a container stores them in blocks; `dtype` is that of an output. */
  readonly blocks?: BlockForm;
}

/** A change of a stored tensor; what there are is known where adapters are (`src/core/models/adapters/kinds/`). */
export interface TensorChange {
  readonly kind: string;
}

/**
 * Returns the number of elements, 1 for a scalar (`[]`); undefined if the product of the extents, taken in
 * order, reaches 2⁶⁴ on the way (the reference implementation overflows there) or is above 2⁵³ − 1.
 */
export const elementCount = (shape: Shape): number | undefined => {
  // A product that a float64 holds exactly was also computed exactly.
  const small = shape.reduce((product, extent) => product * extent, 1);
  if (small > 0 && small <= Number.MAX_SAFE_INTEGER) return small;
  let count = 1n;
  for (const extent of shape) {
    count *= BigInt(extent);
    if (count >= 1n << 64n) return undefined;
  }
  return count <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(count) : undefined;
};

/** Returns the length in bytes; undefined if sub-byte elements do not fill whole bytes, or above 2⁵³ − 1. */
export const byteLength = (dtype: Dtype, elements: number): number | undefined => {
  const bytes = (elements * bitsOf(dtype)) / 8;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
};

/**
 * Returns the number of elements of a shape that has been checked.
 *
 * @throws RangeError if no tensor has that shape
 */
export const elementsOf = (shape: Shape): number => {
  const elements = elementCount(shape);
  if (elements === undefined) throw new RangeError(`no tensor has the shape [${shape.join(', ')}]`);
  return elements;
};

/**
 * Returns the length in bytes of a tensor whose shape has been checked.
 *
 * @throws RangeError if no file has such a tensor
 */
export const bytesOfTensor = (dtype: Dtype, shape: Shape): number => {
  const bytes = byteLength(dtype, elementsOf(shape));
  if (bytes === undefined) throw new RangeError(`no tensor of ${dtype} has the shape [${shape.join(', ')}]`);
  return bytes;
};
