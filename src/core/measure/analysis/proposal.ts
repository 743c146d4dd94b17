import { itemAt } from '../../base/lookup.js';
import { scaledCount } from '../../methods/framework/counts.js';
import type { MavVectors } from './analysis.js';
import type { ExpertRoles } from './expert-roles.js';
import { layerProfile } from './layer-profile.js';

/** Why a proposal is to be doubted. */
export type Concern =
  /** Of the language expert's largest changes the swap takes less than an even spread over the layers would give. */
  | 'language in the middle'
  /** Both experts have their largest changes in the same layers. */
  | 'same layers'
  /** From no end are layers taken. */
  | 'no layers';

/** Numbers of layers to swap for a pair of experts, from where each changed: a heuristic of ours. */
export interface Proposal {
  readonly task: string;
  readonly language: string;
  readonly bottom: number;
  readonly top: number;
  /** The fewest and the most bottom layers that the experts' changes speak for. */
  readonly bottomRange: readonly [number, number];
  readonly topRange: readonly [number, number];
  /** Share of each expert's largest changes that are in the layers that the swap takes from it. */
  readonly kept: { readonly task: number; readonly language: number };
  /** Share of the largest changes that both experts have in the same layers: Σ of the smaller share of each layer. */
  readonly common: number;
  readonly concerns: readonly Concern[];
}

/** The paper's default (§4.2), for 32 layers. */
const usual = { bottom: 5, top: 2 };

/** Difference of two shares, as a part of an even share, from which a layer is one expert's. */
const margin = 1 / 4;

/** Share of changes in common from which two experts count as changing the same layers. */
const mostCommon = 0.9;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

/**
 * Returns the fewest and the most layers that a swap can take from one end: those, from the end on, that are the language
 * expert's by the margin, and those before the first that is the task expert's.
 *
 * @param excess of the language expert's share over the task expert's, from the end on, in even shares
 */
const rangeFrom = (excess: readonly number[]): readonly [number, number] => {
  const until = (isEnd: (of: number) => boolean) => {
    const end = excess.findIndex(isEnd);
    return end === -1 ? excess.length : end;
  };
  return [until((of) => !(of > margin)), until((of) => of < -margin)];
};

const within = (count: number, [fewest, most]: readonly [number, number]): number =>
  Math.min(most, Math.max(fewest, count));

/**
 * Proposes numbers of layers to swap: the paper's default, scaled to the models' layers, moved to the nearest number that the
 * experts' largest changes speak for.
 *
 * @param task share of each layer in the task expert's largest changes, as `layerProfile` returns them
 * @param language the same of the language expert
 */
export const proposalOf = (
  task: readonly number[],
  language: readonly number[],
): Omit<Proposal, 'task' | 'language'> => {
  const layers = task.length;
  const excess = language.map((of, layer) => (of - itemAt(task, layer)) * layers);
  const bottomRange = rangeFrom(excess);
  const bottom = within(scaledCount(usual.bottom, layers), bottomRange);
  const topRange = rangeFrom(excess.slice(bottom).reverse());
  const top = within(scaledCount(usual.top, layers), topRange);
  const ends = (of: readonly number[]) => sum(of.slice(0, bottom)) + sum(of.slice(layers - top));
  const kept = { task: 1 - ends(task), language: ends(language) };
  const common = sum(task.map((of, layer) => Math.min(of, itemAt(language, layer))));
  const concerns: Concern[] = [];
  if (bottom + top === 0) concerns.push('no layers');
  else if (kept.language < (bottom + top) / layers) concerns.push('language in the middle');
  if (common > mostCommon) concerns.push('same layers');
  return { bottom, top, bottomRange, topRange, kept, common, concerns };
};

/** Proposes numbers of layers for each pair of a task and a language expert; for none of which one changed nothing. */
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
