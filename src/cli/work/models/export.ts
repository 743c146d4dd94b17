import { exportModel } from '../../../api/export-model.js';
import type { ModelExportOptions } from '../../../core/conversion/export-model.js';
import type { OutputOptions } from '../../options/output.js';
import { warn } from '../../print.js';
import { describeExport } from '../../text/export-text.js';
import { show, watched } from '../running/show.js';

export const exportModelCommand = async ({
  directory,
  json,
  quiet,
  verbose: _verbose,
  ...options
}: Omit<ModelExportOptions, 'signal' | 'onProgress'> & {
  readonly directory: string;
} & OutputOptions): Promise<void> => {
  const result = await watched({ quiet }, (watch) => exportModel(directory, { ...options, ...watch }));
  if (!quiet) result.warnings.forEach(warn);
  show(result, { json, quiet }, describeExport);
};
