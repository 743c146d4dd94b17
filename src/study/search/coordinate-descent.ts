import { LayerloomError } from '../../core/base/errors/errors.js';
import { itemAt } from '../../core/base/errors/lookup.js';
import { optionName } from '../../core/base/errors/option-name.js';
import type { Forecaster } from './space/forecast.js';
import { distanceOf, linesThrough } from './space/space.js';
import { candidateOf, noneScored, type Searching } from './successive-halving.js';

/** Rows of the first descents, and the factor by which the limit grows. */
const firstRows = 50;
const growth = 1.5;

const shareOfStarts = 0.5;

/**
 * Searches by coordinate descent. A step scores all values of one coordinate on the same rows and moves to
 * the best; ties do not move. A descent ends after a pass over the coordinates without a move.
 *
 * Half of the budget pays for descents on the first 50 rows: from the most promising configuration, then from
 * the one farthest from all scored ones. The default counts as an end point too. Then the best end point
 * continues on more and more rows, then the next best, as long as the budget lasts. The choice is the best of
 * those scored on the most rows.
 */
export const coordinateDescent = async (searching: Searching): Promise<number> => {
  const { outcomes, rows, budget } = searching;
  const first = Math.min(rows, firstRows);
  const early = { ...searching, budget: budget * shareOfStarts };
  const ends = new Set<number>();
  for (let start = startOf(searching); start !== undefined; start = startOf(searching)) {
    const end = await descend(early, start, first);
    if (end !== undefined && !outcomes.hasFailed(end.point)) ends.add(end.point);
    if (end?.isFinished !== true) break;
  }
  const { default: standard } = searching.space;
  if (outcomes.of(standard).length === 0 && outcomes.spent + outcomes.costOf(standard, first) <= budget) {
    await outcomes.raise([standard], first);
    if (!outcomes.hasFailed(standard)) ends.add(standard);
  }
  const finished: number[] = [];
  const ranked = [...ends].sort((a, b) => outcomes.meanOf(b, first) - outcomes.meanOf(a, first));
  for (const end of ranked) {
    let [point, isFinished] = [end, true];
    for (let limit = first; isFinished && limit < rows; ) {
      limit = Math.min(rows, Math.ceil(limit * growth));
      ({ point, isFinished } = (await descend(searching, point, limit)) ?? { point, isFinished: false });
    }
    // An end that the budget cut off counts only if it is the first.
    if (isFinished || finished.length === 0) finished.push(point);
    if (!isFinished) break;
  }
  const scored = searching.space.order.filter((point) => outcomes.of(point).length > 0);
  const candidates = [finished, ranked, scored].find((points) => points.length > 0);
  if (candidates === undefined) throw tooLittle(first);
  return bestOf(searching, candidates);
};

const tooLittle = (first: number): LayerloomError =>
  new LayerloomError('SEARCH_INVALID', {
    reason: `the budget does not allow ${first} problems of the configurations along one parameter`,
    remedy: `allow more with ${optionName('budget')}, or hold out fewer problems`,
  });

/** Later steps depend on scores; only the start and its first line are certain. */
export const descentForecast: Forecaster = ({ space, rows, budget, cost }) => {
  const limit = Math.min(rows, firstRows);
  const affordable = (share: number) => Math.floor((budget * share) / (limit * cost));
  if (affordable(1) < 1) throw tooLittle(limit);
  const start = itemAt(space.order, 0);
  const line = [start, ...itemAt([...linesThrough(space, start), []], 0)];
  const early = affordable(shareOfStarts);
  const first = early < 1 ? [space.default] : early < line.length ? [start] : line;
  // The default is scored in any case.
  const starts = Math.min(space.points.length, early + 1, affordable(1));
  return {
    first,
    most: Math.min(space.points.length, affordable(1)),
    steps: [
      {
        title: 'descents from several starts',
        limit,
        configurations: starts,
        evaluations: starts * limit * cost,
      },
      {
        title: 'the best ends on more problems',
        limit: rows,
        configurations: null,
        evaluations: budget - starts * limit * cost,
      },
    ],
  };
};

/** Returns the configuration farthest from all scored ones, the most promising of ties. */
const startOf = ({ space, outcomes }: Searching): number | undefined => {
  const scored = space.points.filter(
    (_, point) => outcomes.hasFailed(point) || outcomes.of(point).length > 0,
  );
  const candidates = space.order.map((point) => ({
    point,
    steps: Math.min(...scored.map((other) => distanceOf(space, itemAt(space.points, point), other))),
  }));
  const far = candidates.reduce((best, candidate) => (candidate.steps > best.steps ? candidate : best));
  return far.steps > 0 ? far.point : undefined;
};

/**
 * Returns the end of a descent on the first `limit` rows, or the point where the budget stops it; undefined
 * if the budget does not cover the start.
 */
const descend = async (
  searching: Searching,
  start: number,
  limit: number,
): Promise<{ point: number; isFinished: boolean } | undefined> => {
  const { space, outcomes, budget } = searching;
  const isAllowed = (points: readonly number[]) =>
    outcomes.spent + points.reduce((sum, each) => sum + outcomes.costOf(each, limit), 0) <= budget;
  if (!isAllowed([start])) return undefined;
  await outcomes.raise([start], limit);
  let point = start;
  for (let hasMoved = true; hasMoved; ) {
    hasMoved = false;
    for (const [coordinate, line] of linesThrough(space, point).entries()) {
      const candidates = [point, ...line];
      if (!isAllowed(candidates)) return { point, isFinished: false };
      await outcomes.raise(candidates, limit);
      const best = bestOf(searching, candidates, limit);
      const { group } = itemAt(space.points, point);
      searching.onStep({
        title: itemAt(itemAt(space.groups, group).coordinates, coordinate).name,
        limit,
        candidates: candidates.map((each) => candidateOf(searching, each, null)),
        kept: [itemAt(space.points, best).name],
        spent: outcomes.spent,
      });
      hasMoved ||= best !== point;
      point = best;
    }
  }
  return { point, isFinished: true };
};

/** Returns the first point with the highest mean over the rows that all points have. */
const bestOf = (
  { outcomes }: Searching,
  points: readonly number[],
  limit = Number.POSITIVE_INFINITY,
): number => {
  const scored = points.filter((point) => !outcomes.hasFailed(point));
  if (scored.length === 0) throw noneScored();
  const common = Math.min(limit, ...scored.map((point) => outcomes.of(point).length));
  return scored.reduce(
    (best, point) => (outcomes.meanOf(point, common) > outcomes.meanOf(best, common) ? point : best),
    itemAt(scored, 0),
  );
};
