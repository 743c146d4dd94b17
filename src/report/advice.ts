import type { Overlap } from '../analysis/overlap.js';
import type { Shares } from '../analysis/shares.js';
import { formatPercent } from './format.js';

/** Relative deviation from an even spread over the layers below which a share counts as even. */
const even = 0.1;

/**
 * Applies the paper's criterion: layers that an expert changed little are the ones to take from another
 * expert.
 */
export const advice = (
  {
    shares,
    overlaps,
  }: {
    readonly shares: readonly (Shares & { readonly name: string })[];
    readonly overlaps: readonly Overlap[];
  },
  bottom: number,
  top: number,
): string[] => [
  ...shares.map(({ name, layers, bottom: first, top: last }) => {
    const changed = layers.reduce((a, b) => a + b, 0);
    if (changed === 0) return `${name} changed no layer.`;
    if (layers.length <= bottom + top)
      return `${name} has no layers other than its first ${bottom} and last ${top}.`;
    const [share, spread] = [(first + last) / changed, Math.min(1, (bottom + top) / layers.length)];
    const numbers = `${formatPercent(share)} of the change in ${formatPercent(spread)} of the layers`;
    const ends = `its first ${bottom} and last ${top} layers`;
    if (share < spread * (1 - even))
      return `${name} changed ${ends} less than the others (${numbers}): they can be taken from another expert.`;
    if (share > spread * (1 + even))
      return `${name} changed ${ends} more than the others (${numbers}): they hold much of what it has learnt.`;
    return `${name} changed ${ends} as much as the others (${numbers}).`;
  }),
  ...overlaps.map(({ experts, parts }) => {
    const cosines = parts.flatMap(({ layer, cosine }) => (layer === null || cosine === null ? [] : [cosine]));
    const pair = experts.join(' and ');
    if (cosines.length === 0) return `${pair} changed no layer in common.`;
    const mean = cosines.reduce((a, b) => a + b) / cosines.length;
    const number = `mean cosine ${mean.toFixed(3)} over the layers`;
    return mean < 0.1
      ? `${pair} changed the layers in nearly independent directions (${number}): averaging halves both changes, swapping keeps each whole.`
      : `${pair} changed the layers in related directions (${number}): averaging keeps what they have in common.`;
  }),
];
