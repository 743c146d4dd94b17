import { LayerloomError } from '../../core/base/errors.js';
import { itemAt } from '../../core/base/lookup.js';
import { optionName } from '../../core/base/option-name.js';
import type { Estimator } from './estimate.js';
import type { Forecaster } from './forecast.js';
import type { Outcomes } from './outcomes.js';
import type { SearchSpace } from './space.js';
import type { SearchStep } from './trace.js';

/** A rung: the number of configurations that are scored up to a limit of rows. */
export interface Rung {
  readonly count: number;
  readonly limit: number;
}

/** Share of configurations that a rung keeps: less than half, so that an unlucky one has a second chance. */
const keptShare = 0.63;

/** Fewest rows that configurations are compared on. */
const fewestRows = 8;

/**
 * Plans the rungs of a successive halving: numbers of configurations fall, and limits rise, by a constant factor each,
 * up to all rows for a tenth of the configurations. The first limit is the largest that the budget allows, 8 rows at
 * least. All configurations are on the first rung if the budget covers them there; otherwise as many as half of it
 * covers, so that the other half can tell them apart.
 *
 * @param budget evaluations of one configuration on one row
 * @param cost problem-evaluations that each of them is, for messages: the number of its merges
 * @throws LayerloomError SEARCH_INVALID if it is too small for two configurations
 */
export const rungsOf = (points: number, rows: number, budget: number, cost = 1): Rung[] => {
  const fewest = fewestOf(rows);
  if (budget < 2 * fewest)
    throw new LayerloomError('SEARCH_INVALID', {
      reason: `the budget leaves ${Math.max(0, budget) * cost} problem-evaluations to search with, of the ${2 * fewest * cost} that two configurations need`,
      remedy: `raise ${optionName('budget')} by ${(2 * fewest - budget) * cost}, or hold out fewer problems`,
    });
  const first =
    points * fewest <= budget ? points : Math.min(points, Math.max(2, Math.floor(budget / (2 * fewest))));
  for (let limit = rows; limit >= fewest; limit -= 1) {
    const rungs = rungsFrom(first, limit, rows);
    if (costOf(rungs) <= budget) return rungs;
  }
  // Some configurations on the fewest rows, and as many more rows for the best as the rest allows.
  const last = Math.max(2, Math.round(first / 10));
  const limit = Math.min(rows, fewest + Math.floor((budget - first * fewest) / last));
  return limit > fewest
    ? [
        { count: first, limit: fewest },
        { count: last, limit },
      ]
    : [{ count: first, limit: fewest }];
};

/** Returns the rows of the first rung where the budget allows no more. */
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

/** What a strategy works with. */
export interface Searching {
  readonly space: SearchSpace;
  readonly outcomes: Outcomes;
  readonly estimate: Estimator;
  /** Number of rows that configurations may be scored on. */
  readonly rows: number;
  /** Problem-evaluations that the search may use. */
  readonly budget: number;
  /** Problem-evaluations of one row of one configuration. */
  readonly cost: number;
  readonly onStep: (step: SearchStep) => void;
}

/**
 * Searches by successive halving (Jamieson & Talwalkar 2016): all configurations on few problems, the better ones on more.
 * Configurations are ranked by estimates that neighbours share in; so one that was left out comes back when its neighbours turn
 * out well, if the rung's budget allows. The choice has the highest estimate of those on the last rung.
 */
export const successiveHalving = async (searching: Searching): Promise<number> => {
  const { space, outcomes, estimate, rows, budget, cost } = searching;
  const rungs = rungsOf(space.points.length, rows, Math.floor(budget / cost), cost);
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

/**
 * The rungs of a search that has not begun. Of the configurations that the first rung leaves out, a later one takes those
 * whose neighbours do well, as far as the budget goes.
 */
export const halvingForecast: Forecaster = ({ space, rows, budget, cost }) => {
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

/** Returns the order of a space with the default among the first `count`, in the last place of these at least. */
const withDefault = ({ order, default: standard }: SearchSpace, count: number): readonly number[] => {
  if (order.indexOf(standard) < count) return order;
  const others = order.filter((point) => point !== standard);
  return [...others.slice(0, count - 1), standard, ...others.slice(count - 1)];
};

export const noneScored = (): LayerloomError =>
  new LayerloomError('SEARCH_INVALID', {
    reason: 'none of the configurations could be scored',
    remedy: `see the errors above, and continue with ${optionName('resume')}`,
  });

/** Returns a candidate's line of a step. */
export const candidateOf = ({ space, outcomes }: Searching, point: number, estimate: number | null) => ({
  name: itemAt(space.points, point).name,
  problems: outcomes.of(point).length,
  mean: outcomes.hasFailed(point) ? null : outcomes.meanOf(point),
  estimate: outcomes.hasFailed(point) ? null : estimate,
});

/** Returns the first points whose limit can be raised within the budget, without those that are too dear. */
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
