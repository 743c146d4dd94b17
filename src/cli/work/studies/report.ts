import { type WriteReportOptions, writeReport } from '../../../api/report.js';
import { watchStudy } from '../../../api/watch-study.js';
import { argument, layerloomCommand } from '../../../core/base/errors/command-line.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { counted, formatBytes } from '../../../core/base/format.js';
import type { OutputOptions } from '../../options/output.js';
import { note, printNext, warn } from '../../print.js';
import { interruptible } from '../running/interrupt.js';
import { show } from '../running/show.js';

interface ReportCommandOptions extends WriteReportOptions, OutputOptions {
  readonly directory: string;
  readonly watch?: boolean;
  readonly training?: readonly string[];
  readonly every?: number;
}

/** With `--watch`, rewrites a running study's page until Ctrl-C. */
export const reportCommand = async (options: ReportCommandOptions): Promise<void> => {
  const { directory, json, quiet, verbose: _verbose, watch, training, every, ...given } = options;
  if (watch) {
    const unused = (['samples', 'analysis', 'summaries', 'csv'] as const).find(
      (name) => given[name] !== undefined,
    );
    if (unused !== undefined)
      throw new LayerloomError('USAGE', {
        reason: `--${unused} is for the page of results; leave it out with --watch`,
      });
    return await watchCommand(options);
  }
  if (training !== undefined || every !== undefined)
    throw new LayerloomError('USAGE', {
      reason: `${training === undefined ? '--every' : '--training'} is for --watch`,
    });
  const result = await writeReport(directory, given);
  if (!quiet) result.warnings.forEach(warn);
  show(
    result,
    { json, quiet },
    ({ out, bytes, merges, results, tables }) =>
      `${out}: ${formatBytes(bytes)}, ${counted(merges, 'merge')}, ${counted(results, 'result')}, ${counted(tables, 'table')}`,
  );
  if (result.merges > 0 && result.results === 0 && !json && !quiet)
    printNext(layerloomCommand('evaluate', argument(directory)));
};

const watchCommand = async (options: ReportCommandOptions): Promise<void> => {
  const { directory, out, training, every, force, json, quiet } = options;
  let isFirst = true;
  const result = await interruptible((signal) =>
    watchStudy(directory, {
      ...{ out, training, every, force, signal },
      onWritten: () => {
        if (isFirst && !quiet) note(`written: ${out}; it reads itself again. Ctrl-C ends the watch`);
        isFirst = false;
      },
    }),
  );
  show(
    result,
    { json, quiet },
    ({ out: file, pages }) => `${file}: written ${pages} times; it stays as it is`,
  );
};
