import type { MavVectors } from './analysis.js';

/** Where an expert's change is: shares of Σ|Δ|, which add up to 1 (all 0 where nothing changed). */
export interface Shares {
  /** The first `bottom` and the last `top` layers, those between, and what is outside the layers. */
  readonly bottom: number;
  readonly middle: number;
  readonly top: number;
  readonly outside: number;
  /** Of each layer. */
  readonly layers: readonly number[];
}

/** Sums |Δ| over all parameters of each part (paper §3.2: which layers a fine-tuning changes). */
export const sharesOf = ({ tensors, layers }: MavVectors, bottom: number, top: number): Shares => {
  const byLayer = Array.from({ length: layers }, () => 0);
  let outside = 0;
  for (const { layer, rows, nonFiniteRows, parametersPerRow, meanMav } of Object.values(tensors)) {
    if (rows === nonFiniteRows) continue;
    const change = meanMav * (rows - nonFiniteRows) * parametersPerRow;
    if (layer === null) outside += change;
    else byLayer[layer] = (byLayer[layer] ?? 0) + change;
  }
  const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
  const total = outside + sum(byLayer);
  const share = (change: number) => (total > 0 ? change / total : 0);
  const [b, u] = [Math.min(bottom, layers), Math.min(top, Math.max(0, layers - bottom))];
  return {
    bottom: share(sum(byLayer.slice(0, b))),
    middle: share(sum(byLayer.slice(b, layers - u))),
    top: share(sum(byLayer.slice(layers - u))),
    outside: share(outside),
    layers: byLayer.map(share),
  };
};
