import { type AnalyzeParameters, analyze } from '../api/analyze.js';
import { LayerloomError } from '../errors.js';
import { describeAnalysis } from '../report/analysis-summary.js';
import { interruptSignal } from './interrupt.js';
import type { OutputOptions } from './options.js';
import { printJson, printLine, warn } from './print.js';
import { ProgressDisplay } from './progress.js';

export type AnalyzeCliOptions = Omit<AnalyzeParameters, 'experts'> &
  OutputOptions & { readonly out?: string; readonly threads?: number; readonly download?: boolean };

/** Runs `layerloom analyze`, and prints tables and advice. */
export const analyzeCommand = async (
  experts: readonly string[],
  options: AnalyzeCliOptions,
): Promise<void> => {
  const { out, threads, download, json, quiet, verbose: _verbose, ...parameters } = options;
  if (out === undefined)
    throw new LayerloomError('USAGE', { reason: "required option '-o, --out <dir>' not specified" });
  const progress = new ProgressDisplay(process.stderr);
  const { signal, release } = interruptSignal();
  try {
    const onProgress = quiet ? undefined : progress.show;
    const result = await analyze({ ...parameters, experts }, { out, threads, download, signal, onProgress });
    progress.end();
    if (!quiet) result.warnings.forEach(warn);
    if (json) printJson(result);
    else if (!quiet) printLine(describeAnalysis(result, parameters.bottom ?? 5, parameters.top ?? 2));
  } finally {
    progress.end();
    release();
  }
};
