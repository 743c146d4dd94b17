import { type SearchExperimentOptions, searchExperiment } from '../api/search-experiment.js';
import { describeSearch, describeStep } from '../documents/text/search-text.js';
import { checkThreads } from '../engine/run.js';
import { interruptSignal } from './interrupt.js';
import { type OutputOptions, requireOut } from './options.js';
import { note, printEvent, printLine, warn } from './print.js';

export type SearchCliOptions = Omit<SearchExperimentOptions, 'out' | 'pairs' | 'budget'> &
  OutputOptions & { readonly out?: string; readonly pair?: readonly string[]; readonly budget?: string };

/** Runs `layerloom search`, and prints the path and the choice. */
export const searchCommand = async (file: string, options: SearchCliOptions): Promise<void> => {
  const { json, quiet, verbose: _verbose, pair, budget, ...given } = options;
  const out = requireOut(options);
  const { signal, release } = interruptSignal();
  try {
    const result = await searchExperiment(file, {
      ...given,
      out,
      pairs: pair,
      budget: budget === undefined || Number.isNaN(Number(budget)) ? budget : Number(budget),
      threads: checkThreads(options.threads),
      signal,
      onStep: (step) => {
        if (json) printEvent('step', step);
        else if (!quiet) note(describeStep(step));
      },
      onScored: (progress) => {
        const { merge, rows, done, total } = progress;
        if (json) printEvent('scored', progress);
        else if (!quiet)
          note(`problems ${rows[0]} to ${rows[1] - 1}: ${done} of ${total} merges scored (${merge})`);
      },
      onWarning: (warning) => {
        if (!quiet) warn(warning);
      },
    });
    const { steps: _steps, ...rest } = result;
    if (json) printEvent('done', rest);
    else if (!quiet) printLine(`${describeSearch(result)}\nwritten: ${result.out}/search.json, search.svg`);
  } finally {
    release();
  }
};
