import { type SearchExperimentOptions, searchExperiment } from '../../api/search-experiment.js';
import { describeSearch, describeStep } from '../../documents/text/search-text.js';
import { checkThreads } from '../../engine/run.js';
import type { OutputOptions } from '../options/output.js';
import { note, printEvent, printLine, warn } from '../print.js';
import { watched } from './show.js';

type SearchCommandOptions = Omit<SearchExperimentOptions, 'budget'> &
  OutputOptions & { readonly experiment: string; readonly budget?: string };

/** Searches, and prints the path and the choice. */
export const searchCommand = async ({
  experiment,
  json,
  quiet,
  verbose: _verbose,
  budget,
  ...given
}: SearchCommandOptions): Promise<void> => {
  const result = await watched({ quiet }, ({ signal }) =>
    searchExperiment(experiment, {
      ...given,
      budget: budget === undefined || Number.isNaN(Number(budget)) ? budget : Number(budget),
      threads: checkThreads(given.threads),
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
    }),
  );
  const { steps: _steps, ...rest } = result;
  if (json) printEvent('done', rest);
  else if (!quiet) printLine(`${describeSearch(result)}\nwritten: ${result.out}/search.json, search.svg`);
};
