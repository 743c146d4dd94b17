import type { Conclusion } from '../../scores/comparing/conclusion.js';
import type { HeldOutComparison, Rows } from './landscape.js';

/** A configuration in a step. */
export interface Candidate {
  readonly name: string;
  readonly problems: number;
  /** Mean outcome; null if not scored. */
  readonly mean: number | null;
  /** Estimated score relative to the mean level; null if not scored. */
  readonly estimate: number | null;
}

/** A step: configurations scored up to the same row, and those that go on. */
export interface SearchStep {
  /** `rung 2` */
  readonly title: string;
  /** The harness's limit: the row after the last. */
  readonly limit: number;
  /** Candidates, best estimate first. */
  readonly candidates: readonly Candidate[];
  /** Candidates that go on to the next step. */
  readonly kept: readonly string[];
  /** Problem-evaluations so far. */
  readonly spent: number;
}

/** A search's method; always successive halving. */
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
  /** Rows that chose configurations; others were held out. */
  readonly rows: Rows;
  readonly steps: readonly SearchStep[];
  /** Names of the choice and of the default. */
  readonly choice: string;
  readonly default: string;
  /** The choice compared with the default on held-out problems; null if they are the same. */
  readonly heldOut: HeldOutComparison | null;
  /** The conclusion about the choice; null if it is the default. */
  readonly conclusion: Conclusion | null;
  /** True if the choice beats the default on held-out problems at the 5 % level. */
  readonly isGain: boolean;
  /** The choice if it beats the default, else the default. */
  readonly recommended: string;
  /** Configurations that could not be scored. */
  readonly failed: readonly string[];
  /** Configurations that the budget did not cover. */
  readonly leftOut: readonly string[];
}
