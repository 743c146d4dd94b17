import { formatTables } from '../../../api/format-tables.js';
import { rescore } from '../../../api/rescore.js';
import { writeWhole } from '../../../core/engine/output/durable.js';
import type { TableFormat } from '../../../study/pages/score-table/formats.js';
import type { RescoreOptions } from '../../../study/rescoring/rescore-study.js';
import type { OutputOptions } from '../../options/output.js';
import { printJson, printText, warn } from '../../print.js';
import type { ScoreTables, WrittenTables } from '../../printed.js';

interface RescoreCommandOptions extends OutputOptions, RescoreOptions {
  readonly directory: string;
  readonly format?: Exclude<TableFormat, 'parquet'>;
  readonly out?: string;
}

export const rescoreCommand = async (options: RescoreCommandOptions): Promise<void> => {
  const { directory, json, quiet, verbose: _verbose, format = 'text', out, ...changes } = options;
  const { tables, warnings } = await rescore(directory, changes);
  if (!quiet) warnings.forEach(warn);
  if (out !== undefined) await writeWhole(out, `${formatTables(tables, format)}\n`);
  if (json)
    printJson(
      out === undefined
        ? ({ tables } satisfies ScoreTables)
        : ({ out, tables: tables.map(({ id }) => id) } satisfies WrittenTables),
    );
  else if (out === undefined && !quiet) printText(formatTables(tables, format, process.stdout.columns));
};
