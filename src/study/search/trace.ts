import type { Conclusion } from '../scores/conclusion.js';
import type { HeldOutComparison, Rows } from './landscape.js';

/** A configuration in a step. */
export interface Candidate {
  readonly name: string;
  /** Number of problems it has been scored on. */
  readonly problems: number;
  /** Mean outcome on them; null if it could not be scored. */
  readonly mean: number | null;
  /** Estimated score, relative to the level of all configurations; null if the strategy makes none. */
  readonly estimate: number | null;
}

/** One step of a search: configurations scored up to the same row, and those that go on. */
export interface SearchStep {
  /** `rung 2`, or the coordinate that a line varies. */
  readonly title: string;
  /** The rows after the last one that candidates are scored on: the harness's limit. */
  readonly limit: number;
  /** In falling order of estimates, or of means where there are none. */
  readonly candidates: readonly Candidate[];
  /** Names of the candidates that go on to the next step. */
  readonly kept: readonly string[];
  /** Problem-evaluations by the end of the step. */
  readonly spent: number;
}

/** A strategy of a search. */
export type Strategy = 'halving' | 'descent';

/** The path of a search, as `search.json` has it. */
export interface SearchTrace {
  readonly strategy: Strategy;
  readonly seed: number;
  /** Problem-evaluations allowed and used, the final comparison's among them. */
  readonly budget: number;
  readonly spent: number;
  /** Problem-evaluations that all configurations would cost on all problems. */
  readonly grid: number;
  /** Number of configurations. */
  readonly configurations: number;
  /** Rows that configurations were chosen by; the others were held out. */
  readonly rows: Rows;
  readonly steps: readonly SearchStep[];
  /** Names of the chosen configuration and of the one it is compared with. */
  readonly choice: string;
  readonly default: string;
  /** The choice against the default on held-out problems; null if the default was chosen. */
  readonly heldOut: HeldOutComparison | null;
  /** What the comparison says of the choice; null if the default was chosen. */
  readonly conclusion: Conclusion | null;
  /** True if the choice is better than the default on held-out problems at the 5 % level. */
  readonly isGain: boolean;
  /** The configuration to take: the choice if it is better than the default, else the default. */
  readonly recommended: string;
  /** Names of the configurations that could not be scored. */
  readonly failed: readonly string[];
  /** Names of those that were never scored: the budget did not cover them, or no descent came by them. */
  readonly leftOut: readonly string[];
}
