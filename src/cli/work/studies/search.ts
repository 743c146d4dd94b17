import {
  planSearchExperiment,
  type SearchExperimentOptions,
  searchExperiment,
} from '../../../api/search-experiment.js';
import { counted } from '../../../core/base/format.js';
import { checkThreads } from '../../../core/engine/run.js';
import type { OutputOptions } from '../../options/output.js';
import { note, printEvent, printLine, warn } from '../../print.js';
import type { SearchDone } from '../../printed.js';
import { describeSearch, describeSearchPlan, describeStep } from '../../text/studies/search-text.js';
import { requireOut } from '../running/require-out.js';
import { show, watched } from '../running/show.js';

type SearchCommandOptions = Omit<SearchExperimentOptions, 'budget' | 'out' | 'download'> &
  OutputOptions & {
    readonly experiment: string;
    readonly budget?: string;
    readonly out?: string;
    readonly download?: boolean;
    readonly dryRun?: boolean;
  };

export const searchCommand = async ({
  experiment,
  json,
  quiet,
  verbose: _verbose,
  budget: text,
  dryRun,
  ...options
}: SearchCommandOptions): Promise<void> => {
  const budget = text === undefined || Number.isNaN(Number(text)) ? text : Number(text);
  const given = { ...options, budget, threads: checkThreads(options.threads) };
  const onWarning = (warning: string): void => {
    if (!quiet) warn(warning);
  };
  if (dryRun) {
    const download = given.download && 'headers';
    show(
      await planSearchExperiment(experiment, { ...given, download, onWarning }),
      { json, quiet },
      describeSearchPlan,
    );
    return;
  }
  const out = requireOut(given);
  const result = await watched({ quiet }, ({ signal }) =>
    searchExperiment(experiment, {
      ...given,
      out,
      signal,
      onStep: (step) => {
        if (json) printEvent('step', step);
        else if (!quiet) note(describeStep(step));
      },
      onScored: (progress) => {
        const { merge, rows, done, total } = progress;
        if (json) printEvent('scored', progress);
        else if (!quiet)
          note(
            `problems ${rows[0]} to ${rows[1] - 1}: ${done} of ${counted(total, 'merge')} scored (${merge})`,
          );
      },
      onWarning,
    }),
  );
  const { steps: _steps, ...rest } = result;
  if (json) printEvent('done', rest satisfies Omit<SearchDone, 'event'>);
  else if (!quiet) printLine(`${describeSearch(result)}\nwritten: ${result.out}/search.json, search.svg`);
};
