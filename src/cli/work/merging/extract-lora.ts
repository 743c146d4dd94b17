import { type ExtractLoraParameters, extractLora } from '../../../api/extract-lora.js';
import type { ExtractionOptions } from '../../../core/measure/extraction/run-extraction.js';
import type { OutputOptions } from '../../options/output.js';
import { warn } from '../../print.js';
import { describeExtraction } from '../../text/extraction-text.js';
import { show, watched } from '../running/show.js';

export const extractLoraCommand = async ({
  out,
  force,
  threads,
  download,
  json,
  quiet,
  verbose: _verbose,
  ...parameters
}: ExtractLoraParameters &
  Pick<ExtractionOptions, 'out' | 'force' | 'threads' | 'download'> &
  OutputOptions): Promise<void> => {
  const result = await watched({ quiet }, (watch) =>
    extractLora(parameters, { out, force, threads, download, ...watch }),
  );
  if (!quiet) result.warnings.forEach(warn);
  show(result, { json, quiet }, describeExtraction);
};
