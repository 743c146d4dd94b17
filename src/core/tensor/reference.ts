import type { BlockLayout } from './block-layout.js';
import { bitsOf, type Dtype } from './dtype.js';
import type { QuantisationLayout } from './quantisation-layout.js';

/** Sizes of a tensor's dimensions; empty for a scalar. */
export type Shape = readonly number[];

/** A box of a tensor, with contiguous elements in a file. */
export interface TensorPiece {
  readonly file: number;
  readonly begin: number;
  readonly end: number;
  readonly at: Shape;
  readonly sizes: Shape;
}

/** The place of a tensor's bytes; `begin` and `end` are offsets in the file. */
export interface TensorReference {
  /** Index of the file in its checkpoint. */
  readonly file: number;
  readonly begin: number;
  readonly end: number;
  readonly dtype: Dtype;
  readonly shape: Shape;
  /** An adapter's change to these bytes; the value is the sum, rounded to `dtype`. */
  readonly change?: TensorChange;
  /**
   * For quantised tensors: how values are computed. `begin` and `end` locate codes; `dtype` is the output's.
   */
  readonly quantised?: QuantisationLayout<TensorReference>;
  /** For blocks of a container: how values are computed; `dtype` is the output's. */
  readonly blocks?: BlockLayout;
  /** Two or more boxes that cover each element once; `file`, `begin` and `end` are the first one's. */
  readonly pieces?: readonly TensorPiece[];
}

export const storedBytes = ({
  begin,
  end,
  pieces = [{ begin, end }],
}: {
  readonly begin: number;
  readonly end: number;
  readonly pieces?: readonly Pick<TensorPiece, 'begin' | 'end'>[];
}): number => pieces.reduce((sum, piece) => sum + piece.end - piece.begin, 0);

/** A change to a stored tensor; `src/core/models/adapters/kinds/` defines the kinds. */
export interface TensorChange {
  readonly kind: string;
}

/** Counts elements; undefined above 2⁵³ − 1, or if a partial product reaches 2⁶⁴. */
export const elementCount = (shape: Shape): number | undefined => {
  // Products up to this limit are exact in float64.
  const small = shape.reduce((product, extent) => product * extent, 1);
  if (small > 0 && small <= Number.MAX_SAFE_INTEGER) return small;
  let count = 1n;
  for (const extent of shape) {
    count *= BigInt(extent);
    if (count >= 1n << 64n) return undefined;
  }
  return count <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(count) : undefined;
};

/** Returns the bytes of elements; undefined above 2⁵³ − 1, or if elements do not fill whole bytes. */
export const byteLength = (dtype: Dtype, elements: number): number | undefined => {
  const bytes = (elements * bitsOf(dtype)) / 8;
  return Number.isSafeInteger(bytes) ? bytes : undefined;
};

/** @throws RangeError if no tensor has this shape */
export const elementsOf = (shape: Shape): number => {
  const elements = elementCount(shape);
  if (elements === undefined) throw new RangeError(`no tensor has the shape [${shape.join(', ')}]`);
  return elements;
};

/** @throws RangeError if no file can hold the tensor */
export const bytesOfTensor = (dtype: Dtype, shape: Shape): number => {
  const bytes = byteLength(dtype, elementsOf(shape));
  if (bytes === undefined) throw new RangeError(`no tensor of ${dtype} has the shape [${shape.join(', ')}]`);
  return bytes;
};
