import { itemAt } from '../base/errors/lookup.js';
import { elementsOf, type Shape } from './reference.js';

/** A box in a tensor: the first index and the size in each dimension. */
export interface Box {
  readonly at: Shape;
  readonly sizes: Shape;
}

/** Maximum pieces of a tensor. A program has at most 4,096 byte ranges, and a merge reads several models. */
export const mostPieces = 1024;

/** Maximum runs: twice those of 256,000 rows that 8 devices divide by columns. */
const mostRuns = 1 << 22;

/**
 * Returns why boxes do not contain each element of a shape exactly once.
 *
 * @param shape with a number of elements that `elementCount` accepts
 */
export const coverProblem = (shape: Shape, boxes: readonly Box[]): string | undefined => {
  if (boxes.length > mostPieces) return `it has ${boxes.length} pieces, and may have ${mostPieces}`;
  const outside = boxes.find((box) => !isWithin(shape, box));
  if (outside !== undefined)
    return `its piece of shape [${outside.sizes.join(', ')}] at [${outside.at.join(', ')}] lies outside its shape [${shape.join(', ')}]`;
  const [held, all] = [boxes.reduce((sum, { sizes }) => sum + elementsOf(sizes), 0), elementsOf(shape)];
  if (held < all) return `its pieces lack ${all - held} of its ${all} elements`;
  if (held > all || !areApart(boxes, shape.length)) return 'its pieces overlap or interlock';
  return boxes.reduce((sum, box) => sum + runsIn(shape, box), 0) > mostRuns
    ? `its pieces are cut into more than ${mostRuns} runs of elements`
    : undefined;
};

const isWithin = (shape: Shape, { at, sizes }: Box): boolean =>
  at.length === shape.length &&
  sizes.length === shape.length &&
  shape.every((extent, dimension) => itemAt(at, dimension) + itemAt(sizes, dimension) <= extent);

/** True if repeated cuts by planes separate all boxes. Interlocking boxes count as not separate. */
const areApart = (boxes: readonly Box[], dimensions: number): boolean => {
  if (boxes.length < 2) return true;
  for (let dimension = 0; dimension < dimensions; dimension += 1) {
    const groups = groupsAlong(boxes, dimension);
    if (groups.length > 1) return groups.every((group) => areApart(group, dimensions));
  }
  return false;
};

/** Groups boxes whose intervals in a dimension overlap, directly or through others. */
const groupsAlong = (boxes: readonly Box[], dimension: number): readonly (readonly Box[])[] => {
  const [begin, size] = [
    ({ at }: Box) => itemAt(at, dimension),
    ({ sizes }: Box) => itemAt(sizes, dimension),
  ];
  const groups: Box[][] = [];
  let end = Number.NEGATIVE_INFINITY;
  for (const box of boxes.toSorted((a, b) => begin(a) - begin(b))) {
    if (begin(box) >= end) groups.push([]);
    groups.at(-1)?.push(box);
    end = Math.max(end, begin(box) + size(box));
  }
  return groups;
};

/** Returns the last dimension that the box does not fill. From there on, its elements are consecutive. */
const cutOf = (shape: Shape, { sizes }: Box): number =>
  Math.max(
    0,
    shape.findLastIndex((extent, dimension) => extent !== sizes[dimension]),
  );

const runsIn = (shape: Shape, box: Box): number =>
  box.sizes.slice(0, cutOf(shape, box)).reduce((product, extent) => product * extent, 1);

/** Consecutive elements: index of the first in the tensor, its index in the box, and their number. */
export type Run = readonly [to: number, from: number, count: number];

const strideOf = (shape: Shape, dimension: number): number => elementsOf(shape.slice(dimension + 1));

export const runsOf = (shape: Shape, box: Box): readonly Run[] => {
  const cut = cutOf(shape, box);
  const count = elementsOf(box.sizes.slice(cut));
  let starts = [firstOf(shape, box)];
  for (let dimension = 0; dimension < cut; dimension += 1) {
    const stride = strideOf(shape, dimension);
    const steps = Array.from({ length: itemAt(box.sizes, dimension) }, (_, index) => index * stride);
    starts = starts.flatMap((start) => steps.map((step) => start + step));
  }
  return starts.map((to, index) => [to, index * count, count]);
};

const firstOf = (shape: Shape, { at }: Box): number =>
  at.reduce((sum, index, dimension) => sum + index * strideOf(shape, dimension), 0);

/**
 * Returns the boxes of elements `from` to `to` of a flattened tensor, in order: at most two per dimension.
 */
export const boxesOfRange = ([extent, ...inner]: Shape, from: number, to: number): readonly Box[] => {
  if (from === to) return [];
  if (extent === undefined) return [{ at: [], sizes: [] }];
  const stride = elementsOf(inner);
  const [first, last] = [Math.ceil(from / stride), Math.floor(to / stride)];
  const within = (row: number, begin: number, end: number): readonly Box[] =>
    boxesOfRange(inner, begin - row * stride, end - row * stride).map(({ at, sizes }) => ({
      at: [row, ...at],
      sizes: [1, ...sizes],
    }));
  if (first > last) return within(last, from, to);
  const rows = { at: [first, ...inner.map(() => 0)], sizes: [last - first, ...inner] };
  return [
    ...within(first - 1, from, first * stride),
    ...(first < last ? [rows] : []),
    ...within(last, last * stride, to),
  ];
};

/** Returns the greatest common divisor of all runs' lengths and offsets. */
export const unitOf = (shape: Shape, boxes: readonly Box[]): number =>
  greatestDivisor(
    boxes.flatMap((box) => {
      const cut = cutOf(shape, box);
      const strides = shape.slice(0, cut).map((_, dimension) => strideOf(shape, dimension));
      return [elementsOf(box.sizes.slice(cut)), firstOf(shape, box), ...strides];
    }),
  );

const greatestDivisor = (numbers: readonly number[]): number =>
  numbers.reduce((a, b) => {
    let [divisor, rest] = [a, b];
    while (rest > 0) [divisor, rest] = [rest, divisor % rest];
    return divisor;
  });
