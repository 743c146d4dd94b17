import type { Quantisation, QuantisingScheme } from '../../../native/job.js';
import type { Lowering } from '../program/lowering.js';
import { largestMagnitude } from '../program/magnitude-bounds.js';
import type { Value } from '../program/program.js';

export interface QuantisedMatrix {
  readonly scheme: QuantisingScheme;
  /** [rows, columns] */
  readonly shape: readonly [number, number];
  /** Shape of a block, which has one scale. */
  readonly block: readonly [number, number];
}

/**
 * Appends a quantised matrix, decoded or as codes.
 *
 * @param matrix blocks may extend beyond its edges
 */
export const quantisedValue = async (
  value: Value,
  { scheme, shape, block }: QuantisedMatrix,
  to: Lowering,
  as: 'values' | 'codes' = 'values',
): Promise<Value> => {
  const how: Quantisation = {
    scheme,
    rows: shape[0],
    blockRows: Math.min(block[0], shape[0]),
    blockColumns: Math.min(block[1], shape[1]),
    largest: scheme === 'nvfp4' ? await largestMagnitude(to, value) : 0,
  };
  return to.program.quantise(value, how, as);
};
