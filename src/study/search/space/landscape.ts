/** Rows of a task's data: `from` inclusive, `to` exclusive. */
export type Rows = readonly [from: number, to: number];

/** Comparison of the choice with the default, on problems that the search did not use. */
export interface HeldOutComparison {
  readonly rows: Rows;
  /** `metric,filter` */
  readonly metric: string;
  readonly n: number;
  /** Scores and their difference, in the task's metric. */
  readonly choice: number;
  readonly default: number;
  readonly difference: number;
  readonly higherIsBetter: boolean;
  /** 95 % interval of the difference, if known. */
  readonly interval: readonly [low: number, high: number] | null;
  /** Two-sided p-value; null without results by problem. */
  readonly p: number | null;
  readonly test: 'mcnemar' | 't' | 'bootstrap' | null;
  /** Population that the difference describes: the searched pairs, on other problems of this kind. */
  readonly estimand: string | null;
}

/** Scores of configurations. Each call of `evaluate` uses up budget. */
export interface Landscape {
  /** Problem-evaluations per configuration and row: its number of pairs. */
  readonly cost: number;
  /**
   * Returns outcomes by configuration and row (higher is better); null for a configuration that could not be
   * scored. Equal rows give equal outcomes.
   */
  evaluate(points: readonly number[], rows: Rows): Promise<readonly (readonly number[] | null)[]>;
  /** Compares on rows that `evaluate` did not use. */
  compare(choice: number, standard: number, rows: Rows): Promise<HeldOutComparison>;
}
