import type { TableOptions } from '../scores/board.js';
import type { ScoreTable } from '../scores/score-table.js';
import type { ScoredExperiment } from '../scores/scored-experiment.js';

/** Options of `scoreTables`. */
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

/** Tables, and what could not be read of the results. */
export interface ScoreTables {
  readonly tables: readonly ScoreTable[];
  readonly warnings: readonly string[];
}

/**
 * Makes tables of an experiment's scores: min, mean and max by language and method, experts by benchmark, soups (the
 * paper's Tables 1, 2, 5 and 6), ablations, gains, wins, regressions, and paired comparisons by problem.
 *
 * @param directory of an experiment that was evaluated; undefined for imported figures alone
 * @returns tables as data; those without any figure are left out. A comparison of results that are not of the same
 *   problems is left out too, and told in `refusals` of a table
 * @throws LayerloomError EXPERIMENT_MISSING, EXPERIMENT_INVALID; SUMMARIES_INVALID with the line of what is wrong;
 *   READ_FAILED; INVALID_PARAMETER for an unknown table or metric
 */
export const scoreTables = async (
  directory: string | undefined,
  { summaries: files = [], ...options }: ScoreTablesOptions = {},
): Promise<ScoreTables> => {
  // Loaded on demand: other functions of the library need no statistics.
  const { tablesOf } = await import('../scores/tables.js');
  const { layouts } = await import('../paper/layouts.js');
  const { readSummaries } = await import('../scores/read-summaries.js');
  const { loadScores } = await import('../scores/load-scores.js');
  const experiment = directory === undefined ? nothing : await loadScores(directory);
  const summaries = (await Promise.all(files.map(readSummaries))).flat();
  const all = { ...experiment, summaries: [...experiment.summaries, ...summaries] };
  return { tables: tablesOf(all, layouts, options), warnings: experiment.warnings };
};
