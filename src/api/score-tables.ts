import type { TableOptions } from '../scores/board.js';
import type { ScoreTable } from '../scores/score-table.js';
import type { ScoredExperiment } from '../scores/scored-experiment.js';

export interface ScoreTablesOptions extends TableOptions {
  /** CSV files of published or foreign figures, which fill the cells that have no results. */
  readonly summaries?: readonly string[] | undefined;
}

const nothing: ScoredExperiment = {
  directory: null,
  languages: [],
  tasks: new Map(),
  models: [],
  texts: {},
  summaries: [],
  warnings: [],
};

/**
 * Makes tables of imported figures: min, mean and max by language and method, experts by benchmark, soups (the paper's
 * Tables 1, 2, 5 and 6).
 *
 * @returns tables as data; those that have no figure are left out
 * @throws LayerloomError SUMMARIES_INVALID with the line of what is wrong; READ_FAILED; INVALID_PARAMETER for an unknown
 *   table
 */
export const scoreTables = async ({
  summaries: files = [],
  ...options
}: ScoreTablesOptions): Promise<ScoreTable[]> => {
  // Loaded on demand: other functions of the library need no statistics.
  const { tablesOf } = await import('../scores/tables.js');
  const { readSummaries } = await import('../scores/read-summaries.js');
  const summaries = (await Promise.all(files.map(readSummaries))).flat();
  return tablesOf({ ...nothing, summaries }, options);
};
