import { LayerloomError } from '../../core/base/errors/errors.js';
import { itemAt } from '../../core/base/errors/lookup.js';
import { optionName } from '../../core/base/errors/option-name.js';
import { estimatorOf } from './space/estimate.js';
import type { Outcomes } from './space/outcomes.js';
import type { SearchSpace } from './space/space.js';
import type { SearchStep } from './space/trace.js';

export interface Rung {
  readonly count: number;
  readonly limit: number;
}

/** Share of configurations that a rung keeps. Above half, so that an unlucky configuration may return. */
const keptShare = 0.63;

const fewestRows = 8;

/**
 * Returns the rungs of a search. From rung to rung, the number of configurations falls and the number of rows
 * rises, by constant factors, until a tenth of the configurations have all rows. The first rung has as many
 * rows as the budget allows, at least 8. If the budget does not cover all configurations, half of it pays for
 * the first rung, and half for comparing that rung's configurations.
 *
 * @param budget evaluations of one configuration on one row
 * @param cost merges per configuration, for messages
 * @throws SEARCH_INVALID if the budget is too small for two configurations
 */
export const rungsOf = (points: number, rows: number, budget: number, cost = 1): Rung[] => {
  const fewest = fewestOf(rows);
  if (budget < 2 * fewest)
    throw new LayerloomError('SEARCH_INVALID', {
      reason: `the budget leaves ${Math.max(0, budget) * cost} problem-evaluations for the search, but two configurations need ${2 * fewest * cost}`,
      remedy: `raise ${optionName('budget')} by ${(2 * fewest - budget) * cost}, or hold out fewer problems`,
    });
  const first =
    points * fewest <= budget ? points : Math.min(points, Math.max(2, Math.floor(budget / (2 * fewest))));
  for (let limit = rows; limit >= fewest; limit -= 1) {
    const rungs = rungsFrom(first, limit, rows);
    if (costOf(rungs) <= budget) return rungs;
  }
  // Scores some configurations on the fewest rows; the rest of the budget is for more rows of the best.
  const last = Math.max(2, Math.round(first / 10));
  const limit = Math.min(rows, fewest + Math.floor((budget - first * fewest) / last));
  return limit > fewest
    ? [
        { count: first, limit: fewest },
        { count: last, limit },
      ]
    : [{ count: first, limit: fewest }];
};

const fewestOf = (rows: number): number => Math.min(fewestRows, rows);

const rungsFrom = (first: number, limit: number, rows: number): Rung[] => {
  if (limit === rows) return [{ count: first, limit: rows }];
  const last = Math.max(2, Math.round(first / 10));
  const steps = Math.max(1, Math.ceil(Math.log(first / last) / Math.log(1 / keptShare)));
  return Array.from({ length: steps + 1 }, (_, step) => ({
    count: Math.round(first * (last / first) ** (step / steps)),
    limit: Math.round(limit * (rows / limit) ** (step / steps)),
  }));
};

const costOf = (rungs: readonly Rung[]): number =>
  rungs.reduce(
    (sum, { count, limit }, index) =>
      sum + count * (limit - (index === 0 ? 0 : itemAt(rungs, index - 1).limit)),
    0,
  );

interface Halving {
  readonly space: SearchSpace;
  /** Number of rows on which configurations may be scored. */
  readonly rows: number;
  /** Problem-evaluations, without the final comparison. */
  readonly budget: number;
  readonly cost: number;
}

export interface Searching extends Halving {
  readonly outcomes: Outcomes;
  readonly onStep: (step: SearchStep) => void;
}

/**
 * Searches by successive halving (Jamieson & Talwalkar 2016): all configurations on few problems, the better
 * ones on more. Neighbours influence estimates, so a dropped configuration can return. The choice has the
 * highest estimate in the last rung.
 */
export const successiveHalving = async (searching: Searching): Promise<number> => {
  const { space, outcomes, rows, budget, cost } = searching;
  const rungs = rungsOf(space.points.length, rows, Math.floor(budget / cost), cost);
  const estimate = estimatorOf(space);
  let allowed = 0;
  let ranked = withDefault(space, itemAt(rungs, 0).count);
  let members: readonly number[] = [];
  for (const [index, { count, limit }] of rungs.entries()) {
    allowed += count * (limit - (index === 0 ? 0 : itemAt(rungs, index - 1).limit)) * cost;
    members = affordable(ranked.slice(0, count), outcomes, limit, allowed - outcomes.spent);
    await outcomes.raise(members, limit);
    const estimates = estimate(outcomes);
    ranked = space.order
      .filter((point) => !outcomes.hasFailed(point))
      .sort((a, b) => itemAt(estimates, b) - itemAt(estimates, a));
    const next = rungs[index + 1];
    const best = ranked.filter((point) => members.includes(point));
    const kept = next === undefined ? best.slice(0, 1) : ranked.slice(0, next.count);
    searching.onStep({
      title: `rung ${index + 1}`,
      limit,
      candidates: [...best, ...members.filter((point) => outcomes.hasFailed(point))].map((point) =>
        candidateOf(searching, point, itemAt(estimates, point)),
      ),
      kept: kept.map((point) => itemAt(space.points, point).name),
      spent: outcomes.spent,
    });
  }
  const choice = ranked.find((point) => members.includes(point));
  if (choice === undefined) throw noneScored();
  return choice;
};

/** Forecast step; figures are upper bounds. */
export interface ForecastStep {
  /** Equal to the step's `title`: `rung 2`. */
  readonly title: string;
  /** Row after the last scored row. */
  readonly limit: number;
  readonly configurations: number;
  /** Problem-evaluations in this step. */
  readonly evaluations: number;
}

export interface HalvingForecast {
  readonly steps: readonly ForecastStep[];
  readonly first: readonly number[];
  /** Maximum number of configurations scored, unless some fail. */
  readonly most: number;
}

/** Forecasts a search. Other configurations join if their neighbours do well and the budget allows. */
export const forecastHalving = ({ space, rows, budget, cost }: Halving): HalvingForecast => {
  const rungs = rungsOf(space.points.length, rows, Math.floor(budget / cost), cost);
  const { count, limit } = itemAt(rungs, 0);
  const [, second, ...later] = rungs;
  const newcomers =
    second === undefined
      ? 0
      : Math.min(
          [second, ...later].reduce((sum, rung) => sum + rung.count, 0),
          Math.floor((costOf(rungs) - count * limit) / second.limit),
        );
  return {
    first: withDefault(space, count).slice(0, count),
    most: Math.min(space.points.length, count + newcomers),
    steps: rungs.map((rung, index) => ({
      title: `rung ${index + 1}`,
      limit: rung.limit,
      configurations: rung.count,
      evaluations: rung.count * (rung.limit - (index === 0 ? 0 : itemAt(rungs, index - 1).limit)) * cost,
    })),
  };
};

const withDefault = ({ order, default: standard }: SearchSpace, count: number): readonly number[] => {
  if (order.indexOf(standard) < count) return order;
  const others = order.filter((point) => point !== standard);
  return [...others.slice(0, count - 1), standard, ...others.slice(count - 1)];
};

const noneScored = (): LayerloomError =>
  new LayerloomError('SEARCH_INVALID', {
    reason: 'none of the configurations could be scored',
    remedy: `see the errors above, and continue with ${optionName('resume')}`,
  });

const candidateOf = ({ space, outcomes }: Searching, point: number, estimate: number) => ({
  name: itemAt(space.points, point).name,
  problems: outcomes.of(point).length,
  mean: outcomes.hasFailed(point) ? null : outcomes.meanOf(point),
  estimate: outcomes.hasFailed(point) ? null : estimate,
});

const affordable = (
  points: readonly number[],
  outcomes: Outcomes,
  limit: number,
  budget: number,
): number[] => {
  let left = budget;
  return points.filter((point) => {
    const cost = outcomes.costOf(point, limit);
    if (cost > left) return false;
    left -= cost;
    return true;
  });
};
