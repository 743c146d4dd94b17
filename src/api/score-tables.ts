import { invalidParameter } from '../core/base/errors/invalid-parameter.js';
import type { TableOptions } from '../study/scores/boards/board.js';
import type { ScoreTable } from '../study/scores/reading/score-table.js';
import type { ScoredExperiment } from '../study/scores/reading/scored-experiment.js';
import type { Layouts } from '../study/scores/tables.js';

/** Options of `scoreTables`. */
export interface ScoreTablesOptions extends TableOptions {
  /** CSV files of figures that were published or computed elsewhere, for cells without results. */
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

/** Tables, and warnings about unreadable results. */
export interface ScoreTables {
  readonly tables: readonly ScoreTable[];
  readonly warnings: readonly string[];
}

/**
 * Makes tables of an experiment's scores: min, mean and max by language and method, experts by benchmark, and
 * soups (the paper's Tables 1, 2, 5 and 6). Further tables have ablations, gains, wins, regressions, and
 * paired comparisons by problem.
 *
 * @param directory of an evaluated experiment; several (each DIR or NAME=DIR) for tables of several bases and
 * their means; undefined for imported figures alone
 * @returns tables as data, without empty ones. Comparisons on different problems, and facts that differ
 * between bases, are omitted and listed in a table's `refusals`
 * @throws LayerloomError EXPERIMENT_MISSING, EXPERIMENT_INVALID; SUMMARIES_INVALID with the line number;
 * READ_FAILED; INVALID_PARAMETER for an unknown table or metric, and for two bases with one name
 */
export const scoreTables = async (
  directory: string | readonly string[] | undefined,
  { summaries: files = [], ...options }: ScoreTablesOptions = {},
): Promise<ScoreTables> => {
  const directories = typeof directory === 'string' ? [directory] : (directory ?? []);
  const { layouts } = await import('../study/paper/layouts.js');
  if (directories.length > 1) return tablesOfSeveral(directories, layouts, files, options);
  const { tablesOf } = await import('../study/scores/tables.js');
  const { readSummaries } = await import('../study/scores/reading/read-summaries.js');
  const { loadScores } = await import('../study/scores/reading/load-scores.js');
  const [only] = directories;
  const experiment = only === undefined ? nothing : await loadScores(only, { responses: false });
  const summaries = (await Promise.all(files.map(readSummaries))).flat();
  const all = { ...experiment, summaries: [...experiment.summaries, ...summaries] };
  return { tables: tablesOf(all, layouts, options), warnings: experiment.warnings };
};

const tablesOfSeveral = async (
  directories: readonly string[],
  layouts: Layouts,
  summaries: readonly string[],
  options: TableOptions,
): Promise<ScoreTables> => {
  if (summaries.length > 0)
    throw invalidParameter(
      'summaries',
      summaries,
      'no value with several directories, because published figures are for one base',
    );
  const { loadBases } = await import('../study/scores/load-bases.js');
  const { tablesOfBases } = await import('../study/scores/bases.js');
  const { bases, refusals } = await loadBases(directories);
  const warnings = bases.flatMap(({ experiment }) => experiment.warnings);
  const [first, ...others] = tablesOfBases(bases, layouts, options);
  if (first === undefined) return { tables: [], warnings: [...refusals, ...warnings] };
  return { tables: [{ ...first, refusals: [...refusals, ...first.refusals] }, ...others], warnings };
};
