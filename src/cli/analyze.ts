import { type AnalyzeParameters, analyze } from '../api/analyze.js';
import { LayerloomError } from '../base/errors.js';
import { describeAnalysis } from '../documents/text/analysis-summary.js';
import { interruptSignal } from './interrupt.js';
import { type OutputOptions, toNamed, toNumber } from './options.js';
import { printJson, printLine, warn } from './print.js';
import { ProgressDisplay } from './progress.js';

export type AnalyzeCliOptions = Omit<AnalyzeParameters, 'experts' | 'language' | 'threshold' | 'thresholds'> &
  OutputOptions & {
    readonly lang?: readonly string[];
    readonly threshold?: readonly string[];
    readonly out?: string;
    readonly threads?: number;
    readonly download?: boolean;
  };

/** Parses values of `--threshold`: each a threshold of all experts, or `NAME=T`. The last one holds, of all and of each. */
const thresholdsIn = (texts: readonly string[] = []): Pick<AnalyzeParameters, 'threshold' | 'thresholds'> => {
  const isOwn = (text: string) => text.includes('=');
  let own: Record<string, unknown> = {};
  for (const text of texts.filter(isOwn)) own = toNamed(text, own);
  const all = texts.filter((text) => !isOwn(text)).at(-1);
  return {
    threshold: all === undefined || all === 'auto' ? all : toNumber(all),
    // What is no number is for `analyze` to refuse.
    thresholds: own as Record<string, number>,
  };
};

/** Runs `layerloom analyze`, and prints tables and advice. */
export const analyzeCommand = async (
  experts: readonly string[],
  options: AnalyzeCliOptions,
): Promise<void> => {
  const { out, threads, download, json, quiet, verbose: _verbose, lang, threshold, ...given } = options;
  const parameters = { ...given, language: lang, ...thresholdsIn(threshold) };
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
