import { type ExtractLoraParameters, extractLora } from '../api/extract-lora.js';
import { describeExtraction } from '../documents/text/extraction-text.js';
import { interruptSignal } from './interrupt.js';
import { type OutputOptions, requireOut } from './options.js';
import { printJson, printLine, warn } from './print.js';
import { ProgressDisplay } from './progress.js';

export type ExtractLoraCliOptions = Omit<ExtractLoraParameters, 'expert'> &
  OutputOptions & {
    readonly out?: string;
    readonly force?: boolean;
    readonly threads?: number;
    readonly download?: boolean;
  };

/** Runs `layerloom extract-lora`, and prints a table of the layers. */
export const extractLoraCommand = async (expert: string, options: ExtractLoraCliOptions): Promise<void> => {
  const { force, threads, download, json, quiet, verbose: _verbose, out: _out, ...parameters } = options;
  const out = requireOut(options);
  const progress = new ProgressDisplay(process.stderr);
  const { signal, release } = interruptSignal();
  try {
    const onProgress = quiet ? undefined : progress.show;
    const result = await extractLora(
      { ...parameters, expert },
      { out, force, threads, download, signal, onProgress },
    );
    progress.end();
    if (!quiet) result.warnings.forEach(warn);
    if (json) printJson(result);
    else if (!quiet) printLine(describeExtraction(result));
  } finally {
    progress.end();
    release();
  }
};
