import { itemAt } from '../../base/lookup.js';
import { difference, type KeptSums, type Lowering } from './lowering.js';
import type { Value } from './program.js';
import { type QuantisedMatrix, quantisedValue } from './quantised-value.js';

/** How much of a change is left in a quantised model. */
export interface KeptChange {
  /** ‖δ‖, Euclidean, of the change before. */
  readonly norm: number;
  /** ‖δ'‖ / ‖δ‖; null where nothing changed. Below 1 changes are lost, above 1 rounding adds more than there was. */
  readonly share: number | null;
  /** δ · δ' / (‖δ‖ ‖δ'‖): how much of what is left points where the change did. 0 where nothing is left; null as above. */
  readonly cosine: number | null;
}

/** The same of one tensor: in results and in `layerloom.json`. */
export interface KeptTensor extends KeptChange {
  readonly name: string;
  /** Layer number, or null outside the layers. */
  readonly layer: number | null;
}

/** Measures how much of the change of a matrix from its base is left in a scheme. */
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

/** Returns what sums say, those of several tensors together. */
export const keptOf = (sums: readonly KeptSums[]): KeptChange => {
  const total = (number: keyof KeptSums) => sums.reduce((sum, one) => sum + one[number], 0);
  const [norm, kept] = [Math.sqrt(total('squares')), Math.sqrt(total('keptSquares'))];
  if (norm === 0) return { norm, share: null, cosine: null };
  return { norm, share: kept / norm, cosine: kept === 0 ? 0 : total('products') / norm / kept };
};

/** True where less than half of a change is left, or what is left points elsewhere. */
export const isLost = ({ share, cosine }: KeptChange): boolean =>
  share !== null && cosine !== null && (share < 0.5 || cosine < 0.5);
