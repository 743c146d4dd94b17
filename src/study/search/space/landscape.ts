/** Rows of a task's data: `from` inclusive, `to` exclusive. */
export type Rows = readonly [from: number, to: number];

/** The comparison of the choice with the default, on problems that the search has not used. */
export interface HeldOutComparison {
  readonly rows: Rows;
  /** `metric,filter` */
  readonly metric: string;
  readonly n: number;
  /** Scores and their difference, in the task's own metric. */
  readonly choice: number;
  readonly default: number;
  readonly difference: number;
  readonly higherIsBetter: boolean;
  /** 95 % interval of the difference, if known. */
  readonly interval: readonly [low: number, high: number] | null;
  /** Two-sided p-value; null without results by problem. */
  readonly p: number | null;
  readonly test: 'mcnemar' | 't' | 'bootstrap' | null;
  /** The population that the difference describes: the searched pairs, on other problems like these. */
  readonly estimand: string | null;
}

/** Scored configurations; each call of `evaluate` is paid from the budget. */
export interface Landscape {
  /** Problem-evaluations of a configuration on a row: its number of pairs. */
  readonly cost: number;
  /**
   * Returns outcomes by configuration and row (higher is better); null for a configuration that could not be
   * scored. The same rows always give the same outcomes.
   */
  evaluate(points: readonly number[], rows: Rows): Promise<readonly (readonly number[] | null)[]>;
  /** Compares on rows that `evaluate` has not used. */
  compare(choice: number, standard: number, rows: Rows): Promise<HeldOutComparison>;
}
