import { itemAt } from '../../core/base/errors/lookup.js';
import { type Conclusion, conclude } from '../scores/comparing/conclusion.js';
import type { HeldOutComparison, Landscape, Rows } from './space/landscape.js';
import { Outcomes } from './space/outcomes.js';
import { checkSpace, type SearchSpace } from './space/space.js';
import type { SearchStep, SearchTrace } from './space/trace.js';
import {
  forecastHalving,
  type HalvingForecast,
  type Searching,
  successiveHalving,
} from './successive-halving.js';

export interface SearchParameters {
  /** Number of problems. The last `holdOut` are only used in the final comparison. */
  readonly problems: number;
  readonly holdOut: number;
  /** Problem-evaluations, including the final comparison. */
  readonly budget: number;
  /** Seed for the order of configurations; recorded. */
  readonly seed: number;
  readonly onStep?: ((step: SearchStep) => void) | undefined;
}

const allot = (
  space: SearchSpace,
  cost: number,
  { problems, holdOut, budget }: Omit<SearchParameters, 'seed' | 'onStep'>,
): { rows: number; reserved: number; budget: number } => {
  checkSpace(space);
  const reserved = 2 * holdOut * cost;
  return { rows: problems - holdOut, reserved, budget: budget - reserved };
};

/**
 * Forecasts a search and the number of configurations that it scores.
 *
 * @param cost problem-evaluations of one configuration on one row
 * @throws SEARCH_INVALID as `searchSpace`
 */
export const forecastSearch = (
  space: SearchSpace,
  cost: number,
  parameters: Omit<SearchParameters, 'seed' | 'onStep'>,
): HalvingForecast & { readonly rows: Rows /** The final comparison's. */; readonly reserved: number } => {
  const { rows, reserved, budget } = allot(space, cost, parameters);
  return { ...forecastHalving({ space, rows, budget, cost }), rows: [0, rows], reserved };
};

/**
 * Finds the best configuration, and compares it with the default on unused problems. Deterministic, so
 * repeating it on the same landscape resumes it.
 *
 * @throws SEARCH_INVALID if space or budget are too small
 */
export const searchSpace = async (
  space: SearchSpace,
  landscape: Landscape,
  { problems, holdOut, budget, seed, onStep }: SearchParameters,
): Promise<SearchTrace> => {
  const allotted = allot(space, landscape.cost, { problems, holdOut, budget });
  const { reserved } = allotted;
  const rows: Rows = [0, allotted.rows];
  const outcomes = new Outcomes(landscape, space.points.length);
  const steps: SearchStep[] = [];
  const searching: Searching = {
    space,
    outcomes,
    rows: rows[1],
    budget: allotted.budget,
    cost: landscape.cost,
    onStep: (step) => {
      steps.push(step);
      onStep?.(step);
    },
  };
  const choice = await successiveHalving(searching);
  const heldOut =
    choice === space.default ? null : await landscape.compare(choice, space.default, [rows[1], problems]);
  const namesOf = (isOne: (point: number) => boolean): string[] =>
    space.points.filter((_, point) => isOne(point)).map(({ name }) => name);
  const conclusion = heldOut === null ? null : concludeHeldOut(heldOut);
  const isGain = conclusion?.verdict === 'better';
  return {
    strategy: 'halving',
    seed,
    budget,
    spent: outcomes.spent + (heldOut === null ? 0 : reserved),
    grid: space.points.length * problems * landscape.cost,
    configurations: space.points.length,
    rows,
    steps,
    choice: itemAt(space.points, choice).name,
    default: itemAt(space.points, space.default).name,
    heldOut,
    conclusion,
    isGain,
    recommended: itemAt(space.points, isGain ? choice : space.default).name,
    failed: namesOf((point) => outcomes.hasFailed(point)),
    leftOut: namesOf((point) => !outcomes.hasFailed(point) && outcomes.of(point).length === 0),
  };
};

const concludeHeldOut = ({ choice, default: standard, ...compared }: HeldOutComparison): Conclusion =>
  conclude({ ...compared, scores: [choice, standard] });
