import type { Progress } from '../../core/engine/run.js';
import type { OutputOptions } from '../options/output.js';
import { printJson, printLine, progressReceiver } from '../print.js';
import { interruptible } from './interrupt.js';
import { ProgressDisplay } from './progress.js';

/** Prints a result as JSON, as text, or with `quiet` not at all. */
export const show = <Result>(
  result: Result,
  { json, quiet }: OutputOptions,
  describe: (result: Result) => string,
): void => {
  if (json) printJson(result);
  else if (!quiet) printLine(describe(result));
};

type OnProgress = ((progress: Progress) => void) | undefined;

/** Runs work with its progress on stderr, or to who receives it, unless `quiet`. */
export const reported = async <T>(
  { quiet }: OutputOptions,
  work: (onProgress: OnProgress) => Promise<T>,
): Promise<T> => {
  const receiver = progressReceiver();
  if (receiver !== undefined) return await work(receiver);
  const progress = new ProgressDisplay(process.stderr);
  try {
    return await work(quiet ? undefined : progress.show);
  } finally {
    progress.end();
  }
};

/** What work is stopped by, and reports to. */
export interface Watch {
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
}

/** Runs work that Ctrl-C stops, with its progress on stderr unless `quiet`. */
export const watched = <T>(options: OutputOptions, work: (watch: Watch) => Promise<T>): Promise<T> =>
  interruptible((signal) => reported(options, (onProgress) => work({ signal, onProgress })));
