import { itemAt } from '../../../base/errors/lookup.js';
import { paperCounts, scaledCount } from '../../../methods/framework/counts.js';
import type { MavVectors } from '../analysis.js';
import type { ExpertRoles } from './expert-roles.js';
import { layerProfile } from './layer-profile.js';

/** A reason to doubt a proposal. */
export type Concern =
  /** The swap takes fewer of the language expert's largest changes than an even spread would give. */
  | 'language in the middle'
  /** The largest changes of both experts are in the same layers. */
  | 'same layers'
  | 'no layers';

/** Proposed numbers of layers to swap, from where each expert changed most. The heuristic is ours. */
export interface Proposal {
  readonly task: string;
  readonly language: string;
  readonly bottom: number;
  readonly top: number;
  /** Minimum and maximum that the experts' changes support. */
  readonly bottomRange: readonly [number, number];
  readonly topRange: readonly [number, number];
  /** For each expert, the share of its largest changes in the layers that the swap takes from it. */
  readonly kept: { readonly task: number; readonly language: number };
  /** Common share of the experts' largest changes (`commonShare`). */
  readonly common: number;
  readonly concerns: readonly Concern[];
}

/** A layer goes to the expert whose share is larger by at least this fraction of an even share. */
const usualMargin = 1 / 4;

/** The choice is nearly a tie if these margins give different counts. */
const margins = [usualMargin / 2, usualMargin, 2 * usualMargin];

/** Common share from which two experts count as changing the same layers. */
export const mostCommon = 0.9;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/**
 * Returns the minimum and maximum count at one end. The minimum is the number of first layers that the margin
 * gives to the language expert. The maximum ends before the first layer that it gives to the task expert.
 *
 * @param excess by layer from this end: language share minus task share, in units of an even share
 */
const rangeFrom = (excess: readonly number[], margin = usualMargin): readonly [number, number] => {
  const until = (isEnd: (of: number) => boolean) => {
    const end = excess.findIndex(isEnd);
    return end === -1 ? excess.length : end;
  };
  return [until((of) => !(of > margin)), until((of) => of < -margin)];
};

const within = (count: number, [fewest, most]: readonly [number, number]): number =>
  Math.min(most, Math.max(fewest, count));

/** Returns language share minus task share per layer, in units of an even share. */
const excessOf = (task: readonly number[], language: readonly number[]): number[] =>
  language.map((of, layer) => (of - itemAt(task, layer)) * task.length);

/** Returns the sum over layers of the smaller of the two shares. */
export const commonShare = (task: readonly number[], language: readonly number[]): number =>
  sum(task.map((of, layer) => Math.min(of, itemAt(language, layer))));

/** The paper's default at one end, and counts from the experts' changes. */
export interface CountsOfEnd {
  readonly standard: number;
  /** Numbers of layers, ascending. Several mean that the choice is nearly a tie. */
  readonly counts: readonly number[];
  readonly range: readonly [number, number];
}

const countsOfEnd = (excess: readonly number[], standard: number): CountsOfEnd => ({
  standard,
  counts: [...new Set(margins.map((margin) => within(standard, rangeFrom(excess, margin))))].sort(
    (a, b) => a - b,
  ),
  range: rangeFrom(excess),
});

export const bottomCounts = (task: readonly number[], language: readonly number[]): CountsOfEnd =>
  countsOfEnd(excessOf(task, language), scaledCount(paperCounts.bottom, task.length));

export const topCounts = (
  task: readonly number[],
  language: readonly number[],
  bottom: number,
): CountsOfEnd =>
  countsOfEnd(excessOf(task, language).slice(bottom).reverse(), scaledCount(paperCounts.top, task.length));

/**
 * Returns the paper's default counts, scaled to the layers, within the range that the changes support.
 *
 * @param task share of the task expert's largest changes per layer, from `layerProfile`
 * @param language the same for the language expert
 */
export const proposalOf = (
  task: readonly number[],
  language: readonly number[],
): Omit<Proposal, 'task' | 'language'> => {
  const layers = task.length;
  const { standard: usualBottom, range: bottomRange } = bottomCounts(task, language);
  const bottom = within(usualBottom, bottomRange);
  const { standard: usualTop, range: topRange } = topCounts(task, language, bottom);
  const top = within(usualTop, topRange);
  const ends = (of: readonly number[]) => sum(of.slice(0, bottom)) + sum(of.slice(layers - top));
  const kept = { task: 1 - ends(task), language: ends(language) };
  const common = commonShare(task, language);
  const concerns: Concern[] = [];
  if (bottom + top === 0) concerns.push('no layers');
  else if (kept.language < (bottom + top) / layers) concerns.push('language in the middle');
  if (common > mostCommon) concerns.push('same layers');
  return { bottom, top, bottomRange, topRange, kept, common, concerns };
};

/** Proposes counts for each pair of experts. Skips experts that changed nothing. */
export const proposalsOf = (experts: readonly MavVectors[], roles: ExpertRoles): Proposal[] => {
  const profiles = (role: 'task' | 'language') =>
    experts.flatMap((mav) => {
      const profile = roles.get(mav.name) === role ? layerProfile(mav) : undefined;
      return profile === undefined ? [] : [{ name: mav.name, profile }];
    });
  const ofLanguages = profiles('language');
  return profiles('task').flatMap((task) =>
    ofLanguages.map((language) => ({
      task: task.name,
      language: language.name,
      ...proposalOf(task.profile, language.profile),
    })),
  );
};
