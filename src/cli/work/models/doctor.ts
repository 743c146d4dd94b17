import { describeExamination } from '../../../api/doctor/describe.js';
import { examineInstallation } from '../../../api/examine-installation.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import type { OutputOptions } from '../../options/output.js';
import { printJson, printLine } from '../../print.js';

/**
 * With `--json`, a broken installation prints its result only as `details` of the error.
 *
 * @throws INSTALLATION_BROKEN
 */
export const doctorCommand = async ({
  directory,
  json,
  quiet,
}: OutputOptions & { readonly directory: string | undefined }): Promise<void> => {
  const examination = await examineInstallation(directory);
  if (!json && !quiet) printLine(describeExamination(examination));
  if (!examination.ok) throw new LayerloomError('INSTALLATION_BROKEN', examination);
  if (json) printJson(examination);
};
