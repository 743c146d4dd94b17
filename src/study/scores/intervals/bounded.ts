import type { Range } from '../reading/metrics.js';
import type { Spread } from './crossed.js';
import type { Interval } from './shares.js';
import { t95, tTest } from './student.js';

export interface Located {
  /** Mean; for a chosen figure, minus the bias of the choice. */
  readonly center: number;
  readonly mean: number;
  readonly spread: Spread;
  readonly range: Range;
  readonly n: number;
}

/**
 * Returns the variance as a function of the mean μ. If scores are bounded, v(μ) = c (μ − least)(most − μ), as
 * for a share of right answers; with only a lower bound, c (μ − least); without bounds, constant. For shares,
 * 1 / c is the effective number of problems (Korn and Graubard 1998). If all scores are 0 or all are 1, the
 * observed variance is 0; c is then 1/n, as for one model that answered n problems.
 */
const varianceOf = ({ mean, spread: { variance }, range: [least, most], n }: Located) => {
  const isEnded = Number.isFinite(most);
  const shape = (at: number): number =>
    !Number.isFinite(least) ? 1 : (at - least) * (isEnded ? (most - at) / (most - least) : 1);
  const own = shape(mean);
  const factor = own > 0 ? variance / own : isEnded ? (most - least) / n : 0;
  return { factor, at: (value: number): number => factor * shape(value) };
};

/**
 * Returns the 95 % interval: all μ with (mean − μ)² ≤ t² v(μ), where t is Student's. For a share this is
 * Wilson's (1927) score interval with an effective number of problems (Dean and Pagano 2015), which stays
 * within the bounds.
 *
 * @returns undefined if the scores do not vary
 */
export const intervalOf = (located: Located): Interval | undefined => {
  const { spread, range } = located;
  const [least, most] = range;
  const { factor } = varianceOf(located);
  const width = t95(spread.df) ** 2 * factor;
  if (!(width > 0)) return undefined;
  const center = Math.min(most, Math.max(least, located.center));
  if (!Number.isFinite(least)) return [center - Math.sqrt(width), center + Math.sqrt(width)];
  const from = center - least;
  const share = 1 / (most - least);
  const middle = from + width / 2;
  const half = Math.sqrt(width * from * (1 - from * share) + width ** 2 / 4);
  const stretch = 1 + width * share;
  return [
    Math.max(least, least + (middle - half) / stretch),
    Math.min(most, least + (middle + half) / stretch),
  ];
};

/** Returns the two-sided p-value of a difference from 0: below 5 % if `intervalOf` excludes 0. */
export const pOfZero = (located: Located): number => {
  const { center, spread } = located;
  const variance = varianceOf(located).at(0);
  if (center === 0) return 1;
  return variance > 0 ? tTest(center / Math.sqrt(variance), spread.df) : 0;
};
