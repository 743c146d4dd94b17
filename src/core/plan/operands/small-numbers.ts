import type { Lowering } from '../../methods/operations/program/lowering.js';
import { Program } from '../../methods/operations/program/program.js';
import { elementsIn, type StoredTensor } from '../../tensor/stored-tensor.js';

/** Reads all elements of a small tensor (`mostSmall` in kinds/tuner.ts). */
export const numbersOf = async ({ measurer }: Lowering, source: StoredTensor): Promise<Float64Array> => {
  // Column sums of a single row are its elements.
  const row = new Program([1, elementsIn(source)]);
  return await measurer.columnSums(row, row.source(source));
};
