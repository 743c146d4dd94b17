import type { Rows } from './landscape.js';
import type { SearchSpace } from './space.js';
import type { Strategy } from './trace.js';

/** A step that a search will take; its figures are the most that it may come to. */
export interface ForecastStep {
  /** `rung 2`, as in the step's `title` later. */
  readonly title: string;
  /** The rows after the last one that configurations are scored on. */
  readonly limit: number;
  /** Number of configurations; null where scores decide. */
  readonly configurations: number | null;
  /** Problem-evaluations that the step adds. */
  readonly evaluations: number;
}

/** What a strategy asks for, as far as its budget says before the first score. */
export interface StrategyForecast {
  readonly steps: readonly ForecastStep[];
  /** Points that are scored whatever the scores are: those of the first step. */
  readonly first: readonly number[];
  /** Largest number of points that are scored, unless some cannot be. */
  readonly most: number;
}

export interface SearchForecast extends StrategyForecast {
  /** The strategy that is taken: halving where the budget covers the whole grid. */
  readonly strategy: Strategy;
  /** Rows that configurations are chosen by. */
  readonly rows: Rows;
  /** Problem-evaluations that the final comparison takes, unless the default is chosen. */
  readonly reserved: number;
}

/** Says what a strategy asks for. @throws LayerloomError SEARCH_INVALID for a budget that it refuses too */
export type Forecaster = (given: {
  readonly space: SearchSpace;
  /** Number of rows that configurations may be scored on. */
  readonly rows: number;
  /** Problem-evaluations without those of the final comparison. */
  readonly budget: number;
  /** Problem-evaluations of one row of one configuration. */
  readonly cost: number;
}) => StrategyForecast;
