import { type SelectParameters, selectFromFiles } from '../../api/select-from-files.js';
import { describeSelection } from '../../documents/text/selection-text.js';
import type { OutputOptions } from '../options/output.js';
import { show } from './show.js';

/** Prints the chosen checkpoints. */
export const selectCommand = async (given: SelectParameters & OutputOptions): Promise<void> =>
  show(await selectFromFiles(given), given, describeSelection);
