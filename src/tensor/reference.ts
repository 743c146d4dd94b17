import { bitsOf, type Dtype } from './dtype.js';

export type Shape = readonly number[];

/** Where a tensor's bytes are: nothing of it is read. `begin` and `end` count from the start of the file. */
export interface TensorReference {
  /** Index into the files of its checkpoint. */
  readonly file: number;
  readonly begin: number;
  readonly end: number;
  readonly dtype: Dtype;
  readonly shape: Shape;
}

/**
 * The number of elements; 1 for a scalar (`[]`); undefined where multiplying the extents in order passes 2⁶⁴,
 * or they end above 2⁵³.
 */
export const elementCount = (shape: Shape): number | undefined => {
  // Whatever a double holds exactly it has multiplied exactly.
  const small = shape.reduce((product, extent) => product * extent, 1);
  if (small > 0 && small <= Number.MAX_SAFE_INTEGER) return small;
  let count = 1n;
  for (const extent of shape) {
    count *= BigInt(extent);
    if (count >= 1n << 64n) return undefined;
  }
  return count <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(count) : undefined;
};

/**
 * Returns the number of elements of an opened checkpoint's tensor, whose header was checked.
 *
 * @throws RangeError where `elementCount` has none: the shape is not from a checked header
 */
export const checkedElementCount = (shape: Shape): number => {
  const count = elementCount(shape);
  if (count === undefined) throw new RangeError(`[${shape.join(', ')}] has too many elements`);
  return count;
};

/** The bytes of a tensor; undefined where sub-byte elements do not fill whole bytes, or above 2⁵³. */
export const byteLength = (dtype: Dtype, elements: number): number | undefined => {
  const bytes = (elements * bitsOf(dtype)) / 8;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
};
