import { LayerloomError } from '../../core/base/errors.js';
import { itemAt } from '../../core/base/lookup.js';
import { optionName } from '../../core/base/option-name.js';

/** A parameter that varies over the configurations of a group. */
export interface Coordinate {
  readonly name: string;
  /** The values as names show them, in their order: `['3', '4', '5']`. */
  readonly values: readonly string[];
  /** True for numbers, whose neighbours are one value away; words are all neighbours of each other. */
  readonly isOrdered: boolean;
}

/** Configurations that the same parameters tell apart: those of an entry of the experiment. */
export interface Group {
  readonly name: string;
  readonly coordinates: readonly Coordinate[];
}

/** One configuration: an index into the values of each coordinate of its group. */
export interface SearchPoint {
  /** `grid/b3-u0-tb0-tu0-uniform`: a merge's name without language and pair. */
  readonly name: string;
  /** Index of its group. */
  readonly group: number;
  readonly at: readonly number[];
}

/** The configurations that a search chooses from. Points are referred to by their index. */
export interface SearchSpace {
  readonly groups: readonly Group[];
  readonly points: readonly SearchPoint[];
  /** The configuration that the choice is compared with. */
  readonly default: number;
  /** Every point once, the most promising before any is scored first. */
  readonly order: readonly number[];
}

/** Largest number of configurations: estimates take time with its third power. */
export const mostPoints = 1000;

/**
 * Returns the number of steps between two points: one for each place that an ordered coordinate differs by, and one
 * for each other coordinate that differs. Infinite between groups.
 */
export const distanceOf = ({ groups }: SearchSpace, a: SearchPoint, b: SearchPoint): number => {
  if (a.group !== b.group) return Number.POSITIVE_INFINITY;
  return itemAt(groups, a.group).coordinates.reduce((sum, { isOrdered }, index) => {
    const difference = Math.abs(itemAt(a.at, index) - itemAt(b.at, index));
    return sum + (isOrdered ? difference : Math.min(1, difference));
  }, 0);
};

/** Returns the points that differ from a point in one coordinate only, by coordinate; itself is in none of them. */
export const linesThrough = (space: SearchSpace, index: number): (readonly number[])[] => {
  const { group, at } = itemAt(space.points, index);
  return itemAt(space.groups, group).coordinates.map((_, coordinate) =>
    space.points.flatMap((other, candidate) =>
      candidate !== index &&
      other.group === group &&
      other.at.every((value, position) => position === coordinate || value === at[position])
        ? [candidate]
        : [],
    ),
  );
};

/** Returns the points one step away. */
export const neighboursOf = (space: SearchSpace, index: number): number[] => {
  const point = itemAt(space.points, index);
  return space.points.flatMap((other, candidate) =>
    distanceOf(space, point, other) === 1 ? [candidate] : [],
  );
};

/** @throws LayerloomError SEARCH_INVALID for fewer than two configurations, or more than can be estimated */
export const checkSpace = ({ points }: SearchSpace): void => {
  if (points.length < 2)
    throw new LayerloomError('SEARCH_INVALID', {
      reason: 'there is one configuration only',
      remedy: 'give a parameter of an entry under merges several values: bottom: [3, 4, 5]',
    });
  if (points.length > mostPoints)
    throw new LayerloomError('SEARCH_INVALID', {
      reason: `${points.length} configurations, ${mostPoints} at most`,
      remedy: `narrow the grids, or search some entries with ${optionName('entries')}`,
    });
};
