import type { Conclusion } from '../../scores/comparing/conclusion.js';
import type { HeldOutComparison, Rows } from './landscape.js';

/** Configuration in a step. */
export interface Candidate {
  readonly name: string;
  readonly problems: number;
  readonly mean: number | null;
  /** Estimated score relative to the mean level; null if not scored. */
  readonly estimate: number | null;
}

/** Step of a search: configurations scored up to the same row, and those that continue. */
export interface SearchStep {
  /** `rung 2` */
  readonly title: string;
  /** Row after the last scored row; the harness's `limit`. */
  readonly limit: number;
  /** Candidates, best estimate first. */
  readonly candidates: readonly Candidate[];
  /** Names of candidates that continue in the next step. */
  readonly kept: readonly string[];
  /** Problem-evaluations so far. */
  readonly spent: number;
}

/** Search's method; always successive halving. */
export type Strategy = 'halving';

/** A search's path, as in `search.json`. */
export interface SearchTrace {
  readonly strategy: Strategy;
  readonly seed: number;
  /** Problem-evaluations allowed and used, with the final comparison. */
  readonly budget: number;
  readonly spent: number;
  /** Problem-evaluations of all configurations on all problems. */
  readonly grid: number;
  readonly configurations: number;
  /** Rows on which configurations were chosen; all other rows were held out. */
  readonly rows: Rows;
  readonly steps: readonly SearchStep[];
  readonly choice: string;
  readonly default: string;
  /** Comparison of the choice with the default on held-out problems; null if they are the same. */
  readonly heldOut: HeldOutComparison | null;
  readonly conclusion: Conclusion | null;
  /** True if the choice beats the default on held-out problems at the 5 % level. */
  readonly isGain: boolean;
  /** Choice if it beats the default, else the default. */
  readonly recommended: string;
  /** Configurations that could not be scored. */
  readonly failed: readonly string[];
  /** Configurations that the budget did not cover. */
  readonly leftOut: readonly string[];
}
