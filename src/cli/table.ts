import { writeFile } from 'node:fs/promises';
import { scoreTables } from '../api/score-tables.js';
import { layerloomCommand } from '../base/command-line.js';
import { LayerloomError, reasonOf } from '../base/errors.js';
import { formatTables, type TableFormat } from '../documents/score-table/format-tables.js';
import type { ScoreTable } from '../scores/score-table.js';
import type { OutputOptions } from './options.js';
import { note, printJson, printText, warn } from './print.js';

export interface TableCliOptions extends OutputOptions {
  readonly format?: TableFormat;
  readonly table?: readonly string[];
  readonly summaries?: readonly string[];
  readonly metric?: string;
  readonly out?: string;
}

/**
 * Prints tables of scores, or writes them to a file.
 *
 * @throws LayerloomError TABLES_INCOMPLETE, after the tables, if comparisons had to be left out
 */
export const tableCommand = async (
  directory: string | undefined,
  options: TableCliOptions,
): Promise<void> => {
  const { json, quiet, table: names, summaries, metric, out } = options;
  if (directory === undefined && summaries === undefined)
    throw new LayerloomError('USAGE', {
      reason: "missing argument 'dir', the directory of an experiment, or --summaries FILE",
    });
  const { tables, warnings } = await scoreTables(directory, { tables: names, summaries, metric });
  if (!quiet) warnings.forEach(warn);
  const { format = 'text' } = options;
  if (out !== undefined) {
    const text = formatTables(tables, json && format === 'text' ? 'json' : format);
    await writeFile(out, `${text}\n`).catch((error: Error) => {
      throw new LayerloomError('WRITE_FAILED', { file: out, reason: reasonOf(error) }, { cause: error });
    });
  }
  if (json) printJson(out === undefined ? { tables } : { out, tables: tables.map(({ id }) => id) });
  // Names in it are escaped already, and CSV and LaTeX keep their own signs.
  else if (out === undefined && !quiet) printText(formatTables(tables, format, process.stdout.columns));
  if (tables.length === 0 && !quiet)
    note(
      `there are no scores for these tables; \`${layerloomCommand('evaluate', directory ?? 'DIR')}\` makes them`,
    );
  checkComplete(tables);
};

/** @throws LayerloomError TABLES_INCOMPLETE if comparisons were refused, which are printed as warnings */
export const checkComplete = (tables: readonly ScoreTable[]): void => {
  const refusals = tables.flatMap((of) => of.refusals);
  refusals.forEach(warn);
  if (refusals.length > 0) throw new LayerloomError('TABLES_INCOMPLETE', { refusals });
};
