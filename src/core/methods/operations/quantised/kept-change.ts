import { itemAt } from '../../../base/errors/lookup.js';
import { difference, type KeptSums, type Lowering } from '../program/lowering.js';
import type { Value } from '../program/program.js';
import { type QuantisedMatrix, quantisedValue } from './quantised-value.js';

export interface KeptChange {
  /** ‖δ‖ of the change before quantisation. */
  readonly norm: number;
  /** ‖δ'‖/‖δ‖; null if nothing changed. Below 1, changes are lost; above 1, rounding adds noise. */
  readonly share: number | null;
  /** Cosine of δ and δ'; 0 if nothing survives, null if nothing changed. */
  readonly cosine: number | null;
}

export interface KeptTensor extends KeptChange {
  readonly name: string;
  readonly layer: number | null;
}

export const measureKept = async (
  value: Value,
  base: Value,
  matrix: QuantisedMatrix,
  to: Lowering,
): Promise<KeptSums> => {
  const change = difference(to, value, base);
  const kept = difference(
    to,
    await quantisedValue(value, matrix, to),
    await quantisedValue(base, matrix, to),
  );
  const sums = await to.measurer.gram(to.program, [change, kept]);
  return { squares: itemAt(sums, 0), products: itemAt(sums, 1), keptSquares: itemAt(sums, 2) };
};

export const keptOf = (sums: readonly KeptSums[]): KeptChange => {
  const total = (number: keyof KeptSums) => sums.reduce((sum, one) => sum + one[number], 0);
  const [norm, kept] = [Math.sqrt(total('squares')), Math.sqrt(total('keptSquares'))];
  if (norm === 0) return { norm, share: null, cosine: null };
  return { norm, share: kept / norm, cosine: kept === 0 ? 0 : total('products') / norm / kept };
};

/** True if less than half of a change survives, or it points in another direction. */
export const isLost = ({ share, cosine }: KeptChange): boolean =>
  share !== null && cosine !== null && (share < 0.5 || cosine < 0.5);
