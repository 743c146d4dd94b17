import type { Conclusion } from '../../scores/comparing/conclusion.js';
import type { HeldOutComparison, Rows } from './landscape.js';

/** A configuration in a step. */
export interface Candidate {
  readonly name: string;
  readonly problems: number;
  /** Mean outcome; null if it could not be scored. */
  readonly mean: number | null;
  /** Estimated score, relative to the mean level; null if it could not be scored. */
  readonly estimate: number | null;
}

/** A step of a search: configurations scored up to the same row, and those that go on. */
export interface SearchStep {
  /** `rung 2` */
  readonly title: string;
  /** The harness's limit: the row after the last one. */
  readonly limit: number;
  /** Candidates in falling order of estimates. */
  readonly candidates: readonly Candidate[];
  /** Names of the candidates that go on to the next step. */
  readonly kept: readonly string[];
  /** Problem-evaluations by the end of the step. */
  readonly spent: number;
}

/** The method of a search: always successive halving. */
export type Strategy = 'halving';

/** The path of a search, as in `search.json`. */
export interface SearchTrace {
  readonly strategy: Strategy;
  readonly seed: number;
  /** Problem-evaluations allowed and used, including the final comparison. */
  readonly budget: number;
  readonly spent: number;
  /** Problem-evaluations of all configurations on all problems. */
  readonly grid: number;
  readonly configurations: number;
  /** Rows by which configurations were chosen; the others were held out. */
  readonly rows: Rows;
  readonly steps: readonly SearchStep[];
  /** Names of the chosen configuration and of the one it is compared with. */
  readonly choice: string;
  readonly default: string;
  /** The choice against the default on held-out problems; null if the default was chosen. */
  readonly heldOut: HeldOutComparison | null;
  /** The conclusion about the choice; null if the default was chosen. */
  readonly conclusion: Conclusion | null;
  /** True if the choice is better than the default on held-out problems at the 5 % level. */
  readonly isGain: boolean;
  /** The choice if it is better than the default, else the default. */
  readonly recommended: string;
  /** Names of the configurations that could not be scored. */
  readonly failed: readonly string[];
  /** Names of configurations never scored: the budget did not cover them. */
  readonly leftOut: readonly string[];
}
