import { groupBy } from '../../base/errors/lookup.js';
import type { CompleteRecipe } from '../../plan/complete-recipe.js';
import type { Dtype } from '../../tensor/dtype.js';
import { rounded, unitAt } from './precision.js';
import type { Source } from './sources.js';

// Roundings shift numbers equally in both directions. A wrong weight shifts all elements towards a model, by
// a share of the distance. Each shift is smaller than a rounding, but together they far exceed chance.

/** A direction: from the expected elements to a model's, or away from zero (`itself`). */
export type Direction = Source | 'itself';

/** Sums over elements, in units in the last place, from which differences are fitted to a direction. */
interface Sums {
  elements: number;
  /** Σ difference·direction, Σ direction², Σ (difference·direction)², Σ expected·direction. */
  along: number;
  length: number;
  squares: number;
  ofWanted: number;
}

export type Drifts = ReadonlyMap<Direction, Readonly<Sums>>;

/** A direction that differences have in common, and their size as a share of the distance. */
export interface Drift {
  readonly direction: Direction;
  readonly share: number;
}

// Means of two numbers in a short dtype are often ties, which a wrong weight rounds all to one side.

export interface Drifting {
  /** The coarsest dtype whose rounding explains all differences. */
  readonly dtype: Dtype;
  readonly drifts: Drifts;
  /** Set if this tensor's differences alone point towards a model. */
  readonly leads?: Drift | undefined;
}

/** Distance from a model, in units, below which elements are left out: both merges may round them equally. */
const leastUnits = 2;

export class DriftTally {
  readonly sums = new Map<Direction, Sums>();

  /** @param unit the coarsest unit in the last place of the element */
  add(direction: Direction, difference: number, distance: number, wanted: number, unit: number): void {
    if (distance === 0 || !Number.isFinite(distance) || !Number.isFinite(difference)) return;
    const far = distance / unit;
    if (direction !== 'itself' && Math.abs(far) < leastUnits) return;
    let sums = this.sums.get(direction);
    if (sums === undefined) {
      sums = { elements: 0, along: 0, length: 0, squares: 0, ofWanted: 0 };
      this.sums.set(direction, sums);
    }
    const product = (difference / unit) * far;
    sums.elements += 1;
    sums.along += product;
    sums.length += far * far;
    sums.squares += product * product;
    sums.ofWanted += (wanted / unit) * far;
  }
}

/**
 * Shares that roundings explain, in units in the last place of 1. Norms and angles in a short dtype scale
 * whole tensors.
 */
const limits = { towards: 1 / 4, away: 1 / 16, towardsByNorms: 5 / 2, awayByNorms: 1 / 4 };

/** Number of standard errors that count as chance. */
const byChance = 6;

export interface DriftOptions {
  readonly dtype: Dtype;
  /** Relative error of the weights in this dtype. */
  readonly error: number;
  readonly byNorms: boolean;
}

/**
 * Returns the direction to which tensors' differences point together; undefined if roundings, errors of the
 * weights and chance explain it.
 */
export const driftOf = (
  tensors: readonly Drifts[],
  { dtype, error, byNorms }: DriftOptions,
): Drift | undefined => {
  const totals = [...new Set(tensors.flatMap((drifts) => [...drifts.keys()]))].map((direction) =>
    totalOf(
      direction,
      tensors.flatMap((drifts) => drifts.get(direction) ?? []),
    ),
  );
  const longest = totals.reduce(
    (most, { direction, length }) => (direction === 'itself' ? most : Math.max(most, length)),
    0,
  );
  const unit = unitAt(1, dtype);
  const hasBase = totals.some(({ direction }) => direction !== 'itself' && direction.role === 'base');
  const drifts = totals.flatMap(({ direction, share, chance, length, elements, ofWanted }) => {
    const isAway = direction === 'itself';
    const limit = isAway
      ? limits[byNorms ? 'awayByNorms' : 'away']
      : limits[byNorms ? 'towardsByNorms' : 'towards'];
    // A wrong weight of another model also moves the result along this direction, as far as the directions
    // agree. With a base, weights scale only changes, not the whole.
    const ofWhole = hasBase ? 0 : isAway ? 1 : Math.abs(ofWanted) / length;
    const byWeights = error * (isAway ? ofWhole : Math.sqrt(longest / length) + ofWhole);
    // Sums of several roundings lie between the results of one rounding.
    const byRoundings = elements / 6 / length;
    const beyond = Math.abs(share) - limit * unit - byWeights - byRoundings - byChance * chance;
    return beyond > 0 ? [{ direction, share, beyond: beyond / chance }] : [];
  });
  return drifts.toSorted((a, b) => b.beyond - a.beyond)[0];
};

const totalOf = (direction: Direction, all: readonly Sums[]) => {
  const sum = (key: keyof Sums) => all.reduce((total, sums) => total + sums[key], 0);
  const length = sum('length');
  const share = sum('along') / length;
  // All elements of a tensor may have the same error, for instance in its norm.
  const apart = all.reduce((total, sums) => total + (sums.along - share * sums.length) ** 2, 0);
  const chance = Math.sqrt(Math.max(sum('squares'), apart)) / length;
  return { direction, share, chance, length, elements: sum('elements'), ofWanted: sum('ofWanted') };
};

/**
 * Returns tensors that differ only by roundings, but whose differences point towards a model, together or
 * alone.
 *
 * @param optionsOf undefined for a dtype whose roundings are too small to hide wrong weights
 */
export const driftsIn = (
  roundings: ReadonlyMap<string, Drifting>,
  optionsOf: (dtype: Dtype) => DriftOptions | undefined,
): ReadonlyMap<string, Drift> => {
  const found = new Map<string, Drift>();
  for (const [dtype, tensors] of groupBy([...roundings], ([, rounding]) => rounding.dtype)) {
    const options = optionsOf(dtype);
    if (options === undefined) continue;
    const together = driftOf(
      tensors.map(([, { drifts }]) => drifts),
      options,
    );
    for (const [name, { drifts, leads }] of tensors) {
      const drift = together ?? leads ?? driftOf([drifts], options);
      if (drift !== undefined) found.set(name, drift);
    }
  }
  return found;
};

const notWeights = /^(density|gamma|epsilon|seed)$/;

/** Returns the largest relative error that a dtype causes in a recipe's numbers, or in equal weights. */
export const errorOfWeights = (recipe: CompleteRecipe, dtype: Dtype): number => {
  const { models } = recipe;
  const numbers = [1 / (Array.isArray(models) && models.length > 0 ? models.length : 1)];
  JSON.stringify(recipe, (key, value: unknown) => {
    if (notWeights.test(key)) return undefined;
    if (typeof value === 'number' && value !== 0) numbers.push(value);
    return value;
  });
  return numbers.reduce((most, value) => Math.max(most, Math.abs(rounded(value, dtype) / value - 1)), 0);
};
