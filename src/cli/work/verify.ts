import { verify } from '../../api/verify.js';
import { LayerloomError } from '../../base/errors.js';
import { describeOutput } from '../../documents/text/verification-text.js';
import type { OutputOptions } from '../options/output.js';
import { warn } from '../print.js';
import { show, watched } from './show.js';

interface VerifyCommandOptions extends OutputOptions {
  readonly out: string;
  readonly againstInputs?: boolean;
  readonly sample?: number;
  readonly seed?: number;
  readonly download?: boolean;
  readonly threads?: number;
}

/**
 * Verifies an output and prints the result. With `--json` the result of one that is not intact is printed once, as the error's
 * details.
 *
 * @throws LayerloomError OUTPUT_DAMAGED
 */
export const verifyCommand = async (options: VerifyCommandOptions): Promise<void> => {
  const { out, againstInputs, sample, seed, download, threads } = options;
  const result = await watched(options, (watch) =>
    verify(out, { againstInputs, sample, seed, download, threads, ...watch }),
  );
  if (!options.quiet) result.warnings.forEach(warn);
  if (result.intact || !options.json) show(result, options, describeOutput);
  if (!result.intact) throw new LayerloomError('OUTPUT_DAMAGED', result);
};
