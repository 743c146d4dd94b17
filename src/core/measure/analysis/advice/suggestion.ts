import { formatPercent } from '../../../base/format.js';
import { paperCounts, scaledCount } from '../../../methods/framework/counts.js';
import { formatLayers } from '../../../methods/framework/layer-set.js';
import type { Side } from '../../../methods/framework/part-names.js';
import type { Shares } from '../shares.js';
import { bottomCounts, type CountsOfEnd, commonShare, mostCommon, topCounts } from './proposal.js';

/** An expert's change Σ|Δ| after a swap without transition layers, in shares with a sum of 1. */
export interface SwappedChange {
  readonly kept: number;
  readonly dropped: number;
  /** Share outside the layers, where the swap averages the experts. */
  readonly halved: number;
}

export interface SuggestedSwap extends Readonly<Record<Side, SwappedChange>> {
  readonly bottom: number;
  readonly top: number;
}

export interface ProfiledExpert {
  readonly name: string;
  readonly shares: Pick<Shares, 'layers' | 'outside'>;
  /** From `layerProfile`; undefined if the layers did not change. */
  readonly profile: readonly number[] | undefined;
}

/** Layers with at least 1.5 times an even share of an expert's largest changes, and their total share. */
export interface LargestChanges {
  /** A set of layers such as `0,24-31`; empty without such layers. */
  readonly layers: string;
  readonly share: number;
}

export interface SuggestedLayers {
  readonly bottom: number;
  readonly top: number;
  /** Why the numbers are only the paper's default. Empty if the measurements decided. */
  readonly undecided: readonly string[];
  readonly reasons: { readonly bottom: string; readonly top: string };
  readonly largest: Readonly<Record<Side, LargestChanges>>;
  /** At most `budget` swaps: the suggested swap, the paper's default, then other swaps, nearest first. */
  readonly swaps: readonly SuggestedSwap[];
}

/** Minimum `unevenness` of profiles that give advice. */
const flat = 0.1;

const outstanding = 1.5;

/**
 * Minimum gain of the paper's default: it keeps this much more of one expert's change, and loses at most a tenth as
 * much of the other's.
 */
const decisiveGain = 0.1;

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

const unevenness = (profile: readonly number[]): number =>
  sum(profile.map((share) => Math.abs(share - 1 / profile.length))) / 2;

export const swappedChange = (
  { layers, outside }: ProfiledExpert['shares'],
  role: Side,
  bottom: number,
  top: number,
): SwappedChange => {
  const middle = sum(layers.slice(bottom, layers.length - top));
  const ends = sum(layers) - middle;
  const [kept, dropped] = role === 'task' ? [middle, ends] : [ends, middle];
  return { kept, dropped, halved: outside };
};

const largestOf = ({ profile = [] }: ProfiledExpert): LargestChanges => {
  const layers = [...profile.keys()].filter((at) => (profile[at] ?? 0) * profile.length >= outstanding);
  return { layers: formatLayers(layers), share: sum(layers.map((at) => profile[at] ?? 0)) };
};

const undecidedBy = (task: ProfiledExpert, language: ProfiledExpert): string[] => {
  const still = [task, language].filter(({ profile }) => profile === undefined);
  if (still.length > 0 || task.profile === undefined || language.profile === undefined)
    return still.map(({ name }) => `${name} changed no matrix of a layer`);
  const uneven = [task.profile, language.profile].map(unevenness);
  if (uneven.every((distance) => distance < flat))
    return [
      `both changed all layers alike: they differ from an even spread by ${uneven.map(formatPercent).join(' and ')}, and less than ${formatPercent(flat)} says nothing`,
    ];
  const common = commonShare(task.profile, language.profile);
  return common > mostCommon
    ? [
        `both changed the same layers: ${formatPercent(common)} of their largest changes are in common, and any swap loses much of one`,
      ]
    : [];
};

/**
 * Says why all changes (Σ|Δ|) contradict a choice by the largest changes: the default keeps far more of one expert and
 * hardly less of the other. Undefined without a contradiction.
 */
const contradictionOf = (
  { task, language }: Readonly<Record<Side, ProfiledExpert>>,
  chosen: { readonly bottom: number; readonly top: number },
  standard: { readonly bottom: number; readonly top: number },
): string | undefined => {
  const gainOf = ({ shares }: ProfiledExpert, role: Side) =>
    swappedChange(shares, role, standard.bottom, standard.top).kept -
    swappedChange(shares, role, chosen.bottom, chosen.top).kept;
  const [ofTask, ofLanguage] = [gainOf(task, 'task'), gainOf(language, 'language')];
  const [gain, loss, name] =
    ofTask > ofLanguage ? [ofTask, -ofLanguage, task.name] : [ofLanguage, -ofTask, language.name];
  if (gain < decisiveGain || loss > gain / 10) return undefined;
  return `the largest changes ask for ${chosen.bottom} and ${chosen.top}, which lose ${formatPercent(gain)} more of all changes of ${name} than ${standard.bottom} and ${standard.top}`;
};

interface ChosenCount {
  readonly count: number;
  readonly reason: string;
}

const choose = (
  { counts, standard, range: [fewest, most] }: CountsOfEnd,
  end: 'first' | 'last',
  { task, language }: Readonly<Record<Side, ProfiledExpert>>,
): ChosenCount => {
  const [count = standard] = counts.toSorted((a, b) => Math.abs(a - standard) - Math.abs(b - standard));
  const isStandard = count === standard;
  if (counts.length > 1)
    return {
      count,
      reason: `near-tied: ${counts.join(' or ')}; ${count} is ${isStandard ? "the paper's default" : `the nearest to the paper's default, ${standard}`}`,
    };
  if (isStandard)
    return {
      count,
      reason: `the paper's default; the changes allow ${fewest === most ? 'no other number' : `${fewest} to ${most} and do not choose among these`}`,
    };
  return {
    count,
    reason:
      count < standard
        ? `not the paper's default, ${standard}: ${task.name} has more of its largest changes in ${count === 0 ? `the ${end} layer` : `layer ${end === 'first' ? count : task.shares.layers.length - 1 - count}`} than ${language.name}`
        : `not the paper's default, ${standard}: ${language.name} has more of its largest changes ${count === 1 ? `in the ${end} layer` : `in each of the ${end} ${count} layers`} than ${task.name}`,
  };
};

/** Returns swaps near the suggested swap and the paper's (§4.2: 3 to 5 and 0 to 2), nearest first. */
const swapsNear = (
  { bottom, top }: { readonly bottom: number; readonly top: number },
  layers: number,
): (readonly [number, number])[] => {
  const near = (count: number, paper: readonly number[]) =>
    [...new Set([count - 1, count, count + 1, ...paper.map((of) => scaledCount(of, layers))])].filter(
      (of) => of >= 0,
    );
  const distance = ([b, u]: readonly [number, number]) => Math.abs(b - bottom) + Math.abs(u - top);
  const all = near(bottom, [3, 4, 5]).flatMap((b) => near(top, [0, 1, 2]).map((u) => [b, u] as const));
  return all.filter(([b, u]) => b + u <= layers && b + u > 0).sort((a, b) => distance(a) - distance(b));
};

/**
 * Suggests how many bottom and top layers to swap, by the experts' largest changes. If the measurements do
 * not decide, suggests the paper's default, scaled to the number of layers.
 *
 * @param doubts other reasons not to trust the measurements
 * @param budget maximum number of swaps to list
 */
export const suggestLayers = (
  task: ProfiledExpert,
  language: ProfiledExpert,
  { doubts = [], budget }: { readonly doubts?: readonly string[]; readonly budget: number },
): SuggestedLayers => {
  const layers = task.shares.layers.length;
  const standard = {
    // Takes at least one layer from the language expert: for 3 layers, 5 of 32 would round to 0.
    bottom: Math.max(1, scaledCount(paperCounts.bottom, layers)),
    top: scaledCount(paperCounts.top, layers),
  };
  const undecided = doubts.length > 0 ? [...doubts] : undecidedBy(task, language);
  const pair = { task, language };
  const asSuch = (count: number): ChosenCount => ({
    count,
    reason: "the paper's default as such; the measurements say nothing",
  });
  let [bottom, top] = [asSuch(standard.bottom), asSuch(standard.top)];
  if (undecided.length === 0) {
    const profiles = [task.profile ?? [], language.profile ?? []] as const;
    bottom = choose(bottomCounts(...profiles), 'first', pair);
    top = choose(topCounts(...profiles, bottom.count), 'last', pair);
    if (bottom.count + top.count === 0) {
      undecided.push(
        `${task.name} has more of its largest changes than ${language.name} in the first and in the last layer, which speaks against any swap`,
      );
      [bottom, top] = [asSuch(standard.bottom), asSuch(standard.top)];
    }
    const contradiction = contradictionOf(pair, { bottom: bottom.count, top: top.count }, standard);
    if (contradiction !== undefined) {
      undecided.push(contradiction);
      [bottom, top] = [asSuch(standard.bottom), asSuch(standard.top)];
    }
  }
  const chosen = { bottom: bottom.count, top: top.count };
  const pairs = [
    [chosen.bottom, chosen.top] as const,
    [standard.bottom, standard.top] as const,
    ...swapsNear(chosen, layers),
  ];
  const distinct = [...new Map(pairs.map((counts) => [counts.join(), counts])).values()].filter(
    ([b, u]) => b + u < layers,
  );
  return {
    ...chosen,
    undecided,
    reasons: { bottom: bottom.reason, top: top.reason },
    largest: { task: largestOf(task), language: largestOf(language) },
    swaps: distinct.slice(0, budget).map(([b, u]) => ({
      bottom: b,
      top: u,
      task: swappedChange(task.shares, 'task', b, u),
      language: swappedChange(language.shares, 'language', b, u),
    })),
  };
};
