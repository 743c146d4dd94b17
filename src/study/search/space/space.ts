import { LayerloomError } from '../../../core/base/errors/errors.js';
import { itemAt } from '../../../core/base/errors/lookup.js';
import { optionName } from '../../../core/base/errors/option-name.js';

export interface Coordinate {
  readonly name: string;
  readonly values: readonly string[];
  /** True for numbers: only adjacent values are neighbours. If false, all values are. */
  readonly isOrdered: boolean;
}

/** Entry of the experiment, whose configurations vary the same parameters. */
export interface Group {
  readonly name: string;
  readonly coordinates: readonly Coordinate[];
}

/** Indices into the values of the group's coordinates. */
export interface SearchPoint {
  readonly name: string;
  readonly group: number;
  readonly at: readonly number[];
}

export interface SearchSpace {
  readonly groups: readonly Group[];
  readonly points: readonly SearchPoint[];
  /** Configuration to compare the choice with. */
  readonly default: number;
  /** Every point once, most promising first. */
  readonly order: readonly number[];
}

/** Maximum number of configurations, because estimates take cubic time. */
export const mostPoints = 1000;

/**
 * Returns the distance: differences of positions in ordered coordinates, plus 1 for each unordered coordinate that
 * differs. Infinite between groups.
 */
export const distanceOf = ({ groups }: SearchSpace, a: SearchPoint, b: SearchPoint): number => {
  if (a.group !== b.group) return Number.POSITIVE_INFINITY;
  return itemAt(groups, a.group).coordinates.reduce((sum, { isOrdered }, index) => {
    const difference = Math.abs(itemAt(a.at, index) - itemAt(b.at, index));
    return sum + (isOrdered ? difference : Math.min(1, difference));
  }, 0);
};

/** @throws SEARCH_INVALID for fewer than two configurations, or more than can be estimated */
export const checkSpace = ({ points }: SearchSpace): void => {
  if (points.length < 2)
    throw new LayerloomError('SEARCH_INVALID', {
      reason: 'there is only one configuration',
      remedy: 'give a parameter of an entry under merges several values: bottom: [3, 4, 5]',
    });
  if (points.length > mostPoints)
    throw new LayerloomError('SEARCH_INVALID', {
      reason: `there are ${points.length} configurations, but a search takes at most ${mostPoints}`,
      remedy: `narrow the grids, or search some entries with ${optionName('entries')}`,
    });
};
