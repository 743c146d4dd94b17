import { push } from '../api/push.js';
import { describePush } from '../documents/text/hub-text.js';
import { interruptSignal } from './interrupt.js';
import type { OutputOptions } from './options.js';
import { printJson, printLine, warn } from './print.js';
import { ProgressDisplay } from './progress.js';

export interface PushCliOptions extends OutputOptions {
  readonly private?: boolean;
  readonly revision?: string;
  readonly message?: string;
  readonly dryRun?: boolean;
}

/** Runs `layerloom push`, and prints what was sent. */
export const pushCommand = async (
  directory: string,
  repository: string,
  { json, quiet, verbose: _verbose, ...options }: PushCliOptions,
): Promise<void> => {
  const progress = new ProgressDisplay(process.stderr);
  const { signal, release } = interruptSignal();
  try {
    const result = await push(directory, repository, {
      ...options,
      signal,
      onProgress: quiet ? undefined : (state) => progress.show({ phase: 'upload', ...state }),
    });
    progress.end();
    if (!quiet) result.warnings.forEach(warn);
    if (json) printJson(result);
    else if (!quiet) printLine(describePush(result));
  } finally {
    progress.end();
    release();
  }
};
