import { diff } from '../api/diff.js';
import { describeComparison } from '../documents/comparison/comparison-text.js';
import type { Comparison } from '../measure/comparison/comparison.js';
import { interruptSignal } from './interrupt.js';
import type { OutputOptions } from './options.js';
import { printJson, printLine, warn } from './print.js';
import { ProgressDisplay } from './progress.js';

export interface DiffCliOptions extends OutputOptions {
  readonly only?: string;
  readonly out?: string;
  readonly force?: boolean;
  readonly all?: boolean;
  readonly threads?: number;
  readonly download?: boolean;
  readonly exitCode?: boolean;
}

/** Runs `layerloom diff`, and prints what differs; with `--exit-code` the process ends with 1 if anything does. */
export const diffCommand = async (a: string, b: string, options: DiffCliOptions): Promise<void> => {
  const { only, out, force, all = false, threads, download, exitCode = false, json, quiet } = options;
  const progress = new ProgressDisplay(process.stderr);
  const { signal, release } = interruptSignal();
  try {
    const onProgress = quiet ? undefined : progress.show;
    const comparison = await diff(a, b, { only, out, force, threads, download, signal, onProgress });
    progress.end();
    if (!quiet) comparison.warnings.forEach(warn);
    if (json) printJson(comparison);
    else if (!quiet)
      printLine(`${describeComparison(comparison, all)}${out === undefined ? '' : `\n${out}`}`);
    if (exitCode && differs(comparison)) process.exitCode = 1;
  } finally {
    progress.end();
    release();
  }
};

const differs = ({ equal, sideFiles }: Comparison): boolean =>
  !equal || sideFiles.some(({ state }) => state !== 'equal');
