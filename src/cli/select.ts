import { type SelectParameters, selectFromFiles } from '../api/select-from-files.js';
import { describeSelection } from '../documents/text/selection-text.js';
import type { OutputOptions } from './options.js';
import { printJson, printLine } from './print.js';

/** Runs `layerloom select`, and prints the chosen checkpoints. */
export const selectCommand = async (options: SelectParameters & OutputOptions): Promise<void> => {
  const selection = await selectFromFiles(options);
  if (options.json) printJson(selection);
  else if (!options.quiet) printLine(describeSelection(selection));
};
