import { writeReport } from '../api/report.js';
import { LayerloomError } from '../base/errors.js';
import { formatBytes } from '../documents/text/format.js';
import type { OutputOptions } from './options.js';
import { printJson, printLine, warn } from './print.js';

export interface ReportCliOptions extends OutputOptions {
  readonly out?: string;
  readonly samples?: number;
  readonly analysis?: string;
  readonly summaries?: readonly string[];
  readonly force?: boolean;
}

/** Runs `layerloom report`: writes the page, and prints where it is. */
export const reportCommand = async (directory: string, options: ReportCliOptions): Promise<void> => {
  const { out, samples, analysis, summaries, force, json, quiet } = options;
  if (out === undefined)
    throw new LayerloomError('USAGE', { reason: "required option '-o, --out <file>' not specified" });
  const result = await writeReport(directory, { out, samples, analysis, summaries, force });
  if (!quiet) result.warnings.forEach(warn);
  if (json) printJson(result);
  else if (!quiet)
    printLine(
      `${result.out}: ${formatBytes(result.bytes)}, ${result.merges} merges, ${result.results} results, ${result.tables} tables`,
    );
};
