import { type WriteReportOptions, writeReport } from '../../api/report.js';
import { formatBytes } from '../../documents/text/format.js';
import type { OutputOptions } from '../options/output.js';
import { warn } from '../print.js';
import { show } from './show.js';

/** Writes the page of an experiment, and prints where it is. */
export const reportCommand = async ({
  directory,
  json,
  quiet,
  verbose: _verbose,
  ...given
}: WriteReportOptions & OutputOptions & { readonly directory: string }): Promise<void> => {
  const result = await writeReport(directory, given);
  if (!quiet) result.warnings.forEach(warn);
  show(
    result,
    { json, quiet },
    ({ out, bytes, merges, results, tables }) =>
      `${out}: ${formatBytes(bytes)}, ${merges} merges, ${results} results, ${tables} tables`,
  );
};
