import type { Rows } from './landscape.js';
import type { SearchSpace } from './space.js';
import type { Strategy } from './trace.js';

/** A step of a planned search; figures are upper bounds. */
export interface ForecastStep {
  /** As the step's later `title`: `rung 2`. */
  readonly title: string;
  /** The row after the last one that configurations are scored on. */
  readonly limit: number;
  /** Number of configurations; null if scores decide it. */
  readonly configurations: number | null;
  /** Problem-evaluations that the step adds. */
  readonly evaluations: number;
}

export interface StrategyForecast {
  readonly steps: readonly ForecastStep[];
  /** Points that are scored in any case: those of the first step. */
  readonly first: readonly number[];
  /** Largest number of points scored, unless some fail. */
  readonly most: number;
}

export interface SearchForecast extends StrategyForecast {
  /** The strategy used: halving if the budget covers the whole grid. */
  readonly strategy: Strategy;
  readonly rows: Rows;
  /** Problem-evaluations of the final comparison. */
  readonly reserved: number;
}

/** Plans a strategy's steps. @throws LayerloomError SEARCH_INVALID for a budget that the strategy refuses */
export type Forecaster = (given: {
  readonly space: SearchSpace;
  /** Rows that configurations may be scored on. */
  readonly rows: number;
  /** Problem-evaluations, without the final comparison's. */
  readonly budget: number;
  readonly cost: number;
}) => StrategyForecast;
