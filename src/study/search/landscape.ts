/** Rows of a task's data: the first, and the one after the last. */
export type Rows = readonly [from: number, to: number];

/** A comparison of the choice with the default on problems that the search has not used. */
export interface HeldOutComparison {
  readonly rows: Rows;
  /** `metric,filter` */
  readonly metric: string;
  /** Number of problems. */
  readonly n: number;
  /** Scores of the two, and their difference; in the task's own metric. */
  readonly choice: number;
  readonly default: number;
  readonly difference: number;
  readonly higherIsBetter: boolean;
  /** 95 % interval of the difference; null where there is none. */
  readonly interval: readonly [low: number, high: number] | null;
  /** Two-sided p-value of one test; null where results by problem are missing. */
  readonly p: number | null;
  readonly test: 'mcnemar' | 't' | 'bootstrap' | null;
  /** What interval and p are about: the pairs that were searched, on other problems like these. */
  readonly estimand: string | null;
}

/** Outcomes of configurations on problems: a function of configuration and row that costs an evaluation each. */
export interface Landscape {
  /** Problem-evaluations that one row of one configuration costs: the number of its pairs. */
  readonly cost: number;
  /**
   * Returns the outcome of each configuration in each row, more being better; null for a configuration that could not
   * be scored. Rows asked for before get the same outcomes again.
   */
  evaluate(points: readonly number[], rows: Rows): Promise<readonly (readonly number[] | null)[]>;
  /** Compares two configurations on rows that `evaluate` was not asked for. */
  compare(choice: number, standard: number, rows: Rows): Promise<HeldOutComparison>;
}
