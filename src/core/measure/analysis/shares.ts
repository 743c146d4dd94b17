import { itemAt } from '../../base/errors/lookup.js';
import { roleInside } from '../../models/architecture/roles.js';
import type { MavVectors } from './analysis.js';
import { isLayerMatrix } from './columns.js';

/** An expert's change by location, in shares of Σ|Δ| with a sum of 1; all 0 if nothing changed. */
export interface Shares {
  readonly bottom: number;
  readonly middle: number;
  readonly top: number;
  readonly outside: number;
  readonly layers: readonly number[];
  /** Shares of a mixture's experts by layer; empty for layers without experts. */
  readonly experts?: readonly (readonly number[])[];
  /** Mean MAV of matrix rows in layers, as in Fig. 2; absent if the model lacks attention or feed-forward. */
  readonly modules?: { readonly attention: number; readonly feedForward: number };
}

const ofExpert = /(^|\.)experts\.(?<expert>\d+)\./;

/** Returns how much each layer changed (paper §3.2), from mean MAVs of finite rows. */
export const sharesOf = ({ tensors, layers }: MavVectors, bottom: number, top: number): Shares => {
  const byLayer = Array.from({ length: layers }, () => 0);
  const byExpert = Array.from({ length: layers }, () => new Map<number, number>());
  let outside = 0;
  for (const { layer, module, rows, nonFiniteRows, parametersPerRow, meanMav } of Object.values(tensors)) {
    if (rows === nonFiniteRows) continue;
    const change = meanMav * (rows - nonFiniteRows) * parametersPerRow;
    if (layer === null) outside += change;
    else byLayer[layer] = itemAt(byLayer, layer) + change;
    const expert = ofExpert.exec(module)?.groups?.['expert'];
    if (layer === null || expert === undefined) continue;
    const experts = itemAt(byExpert, layer);
    experts.set(Number(expert), (experts.get(Number(expert)) ?? 0) + change);
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
    ...modulesOf(tensors),
    ...(byExpert.every(({ size }) => size === 0)
      ? {}
      : {
          experts: byExpert.map((experts) =>
            [...experts].sort(([a], [b]) => a - b).map(([, change]) => share(change)),
          ),
        }),
  };
};

const modulesOf = (tensors: MavVectors['tensors']): Pick<Shares, 'modules'> => {
  const matrices = Object.values(tensors).filter(isLayerMatrix);
  const [attention, feedForward] = (['attention', 'feedForward'] as const).map((role) => {
    const own = matrices.filter(({ module }) => roleInside(undefined, module) === role);
    const rows = own.reduce((sum, one) => sum + one.rows - one.nonFiniteRows, 0);
    return own.reduce((sum, one) => sum + one.meanMav * (one.rows - one.nonFiniteRows), 0) / rows;
  });
  return Number.isFinite(attention) && Number.isFinite(feedForward)
    ? { modules: { attention: Number(attention), feedForward: Number(feedForward) } }
    : {};
};
