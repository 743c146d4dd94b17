import { resolve } from 'node:path';
import { formatTables } from '../../../api/format-tables.js';
import { scoreTables } from '../../../api/score-tables.js';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { writeWhole } from '../../../core/engine/output/durable.js';
import type { TableFormat } from '../../../study/pages/score-table/formats.js';
import type { ScoreTable } from '../../../study/scores/reading/score-table.js';
import type { OutputOptions } from '../../options/output.js';
import { note, printJson, printText, warn } from '../../print.js';
import type { ScoreTables, WrittenTables } from '../../printed.js';

interface TableCommandOptions extends OutputOptions {
  readonly directories: readonly string[];
  readonly format?: TableFormat;
  readonly tables?: readonly string[];
  readonly summaries?: readonly string[];
  readonly metric?: string;
  readonly margin?: number;
  readonly plan?: number;
  readonly out?: string;
}

/** @throws TABLES_INCOMPLETE, after the tables, if comparisons were refused */
export const tableCommand = async (options: TableCommandOptions): Promise<void> => {
  const { directories, json, quiet, tables: names, summaries, metric, margin, plan, out } = options;
  if (directories.length === 0 && summaries === undefined)
    throw new LayerloomError('USAGE', {
      reason: 'table needs <dir...>, the directory of an experiment, or --summaries FILE',
    });
  const input = out === undefined ? undefined : summaries?.find((file) => resolve(file) === resolve(out));
  if (out !== undefined && input !== undefined)
    throw new LayerloomError('OUTPUT_INSIDE_INPUT', { out, input: out });
  const { format = 'text' } = options;
  if (format === 'parquet' && out === undefined)
    throw new LayerloomError('USAGE', {
      reason: '--format parquet is no text: name the file to write by --out',
    });
  const { tables, warnings } = await scoreTables(directories, {
    tables: names,
    summaries,
    metric,
    margin,
    plan,
  });
  if (!quiet) warnings.forEach(warn);
  if (out !== undefined) {
    const content =
      format === 'parquet'
        ? await formatTables(tables, format)
        : `${formatTables(tables, json && format === 'text' ? 'json' : format)}\n`;
    await writeWhole(out, content);
  }
  if (json)
    printJson(
      out === undefined
        ? ({ tables } satisfies ScoreTables)
        : ({
            out,
            tables: tables.map(({ id, base }) => (base === undefined ? id : `${base}/${id}`)),
          } satisfies WrittenTables),
    );
  // Names are already escaped, and CSV and LaTeX have their own escapes.
  else if (out === undefined && format !== 'parquet' && !quiet)
    printText(formatTables(tables, format, process.stdout.columns));
  if (tables.length === 0 && !quiet)
    note(
      ofTraining(names ?? [])
        ? `no model of this study was found in a folder of \`${layerloomCommand('train', 'init')}\`, which records what these tables have`
        : `there are no scores for these tables; \`${layerloomCommand('evaluate', argument(directories[0] ?? 'DIR'))}\` makes them`,
    );
  checkComplete(tables);
};

const ofTraining = (tables: readonly string[]): boolean =>
  tables.length > 0 && tables.every((table) => table === 'datasets' || table === 'training');

/** Prints refused comparisons as warnings. @throws TABLES_INCOMPLETE after any */
export const checkComplete = (tables: readonly ScoreTable[]): void => {
  const refusals = tables.flatMap((of) => of.refusals);
  refusals.forEach(warn);
  if (refusals.length > 0) throw new LayerloomError('TABLES_INCOMPLETE', { refusals });
};
