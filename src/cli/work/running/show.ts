import type { Progress } from '../../../core/engine/run.js';
import type { OutputOptions } from '../../options/output.js';
import { printJson, printLine, progressReceiver } from '../../print.js';
import { interruptible } from './interrupt.js';
import { ProgressDisplay } from './progress.js';

export const show = <Result>(
  result: Result,
  { json, quiet }: OutputOptions,
  describe: (result: Result) => string,
): void => {
  if (json) printJson(result);
  else if (!quiet) printLine(describe(result));
};

type OnProgress = ((progress: Progress) => void) | undefined;

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

export interface Watch {
  readonly signal: AbortSignal;
  readonly onProgress: OnProgress;
}

export const watched = <T>(options: OutputOptions, work: (watch: Watch) => Promise<T>): Promise<T> =>
  interruptible((signal) => reported(options, (onProgress) => work({ signal, onProgress })));
