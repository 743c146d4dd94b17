import type { ElementSlice } from '../../engine/compute/measures/read-values.js';
import { elementsOf, type Shape } from '../../tensor/reference.js';

const mostBlocks = 8;

/** Returns blocks of whole rows, from the first row to the last, with about `most` elements in total. */
export const sampleSlices = (shape: Shape, most: number): ElementSlice[] => {
  const elements = elementsOf(shape);
  if (elements <= most) return [{ first: 0, count: elements }];
  const columns = shape.length < 2 ? 1 : (shape.at(-1) ?? 1);
  const rows = elements / columns;
  const taken = Math.max(1, Math.floor(most / columns));
  const blocks = Math.min(mostBlocks, taken);
  const inBlock = Math.max(1, Math.floor(taken / blocks));
  return Array.from({ length: blocks }, (_, block) => ({
    first: Math.floor((block * (rows - inBlock)) / Math.max(1, blocks - 1)) * columns,
    count: inBlock * columns,
  }));
};

const ofHead = 256;

/** Returns a tensor's first row, or a vector's first elements. */
export const headSlice = (shape: Shape): ElementSlice => {
  const count = shape.length < 2 ? Math.min(ofHead, elementsOf(shape)) : (shape.at(-1) ?? 1);
  return { first: 0, count: elementsOf(shape) === 0 ? 0 : count };
};

/** Returns all elements, in blocks of whole rows of about `most` elements each. */
export const allSlices = (shape: Shape, most: number): ElementSlice[] => {
  const elements = elementsOf(shape);
  const columns = shape.length < 2 ? 1 : (shape.at(-1) ?? 1);
  const size = Math.max(1, Math.floor(most / Math.max(1, columns))) * columns;
  return Array.from({ length: Math.ceil(elements / size) }, (_, index) => ({
    first: index * size,
    count: Math.min(size, elements - index * size),
  }));
};
