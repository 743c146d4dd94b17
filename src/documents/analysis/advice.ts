import type { ExpertRoles } from '../../measure/analysis/expert-roles.js';
import type { Overlap } from '../../measure/analysis/overlap.js';
import type { Shares } from '../../measure/analysis/shares.js';
import type { Side } from '../../methods/framework/part-names.js';
import { formatPercent } from '../text/format.js';

/** Relative deviation from an even spread over the layers below which a share counts as even. */
const even = 0.1;

/** What a layer swap makes of an expert's changes in the layers at its ends, by its role. */
const inSwap: Readonly<Record<Side, Readonly<Record<'less' | 'more' | 'same', string>>>> = {
  task: {
    less: "a swap replaces these by the language expert's, and keeps the layers that it changed most",
    more: "a swap replaces these by the language expert's, and with them much of what it has learnt; try fewer (--bottom, --top)",
    same: "a swap replaces these by the language expert's",
  },
  language: {
    less: 'a swap takes these from it, and leaves out the layers that it changed most',
    more: 'a swap takes these from it, which hold much of what it has learnt',
    same: 'a swap takes these from it',
  },
};

/**
 * Says where each expert changed its layers, and by its role what a layer swap makes of that; without a role no more
 * than where. Then of each pair whether their changes have a direction in common.
 */
export const advice = (
  {
    shares,
    overlaps,
    roles,
  }: {
    readonly shares: readonly (Shares & { readonly name: string })[];
    readonly overlaps: readonly Overlap[];
    readonly roles: ExpertRoles;
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
    const how = share < spread * (1 - even) ? 'less' : share > spread * (1 + even) ? 'more' : 'same';
    const compared = how === 'same' ? 'as much as' : `${how} than`;
    const role = roles.get(name);
    const swapped = role === undefined ? '' : `: ${inSwap[role][how]}`;
    const named = role === undefined ? name : `${name} (${role} expert)`;
    return `${named} changed its first ${bottom} and last ${top} layers ${compared} the others (${numbers})${swapped}.`;
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
