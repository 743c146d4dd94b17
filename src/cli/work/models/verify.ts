import { verify } from '../../../api/verify.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import type { OutputVerification } from '../../../core/measure/verification/verification.js';
import type { OutputOptions } from '../../options/output.js';
import { warn } from '../../print.js';
import { describeLoading, faultsOf } from '../../text/loading-text.js';
import { damageOf, describeOutput } from '../../text/models/verification-text.js';
import { show, watched } from '../running/show.js';

interface VerifyCommandOptions extends OutputOptions {
  readonly out: string;
  readonly againstInputs?: boolean;
  readonly sample?: number;
  readonly seed?: number;
  readonly loads?: boolean;
  readonly key?: string;
  readonly python?: string;
  readonly download?: boolean;
  readonly threads?: number;
}

/**
 * With `--json`, a damaged output prints its result only as `details` of the error.
 *
 * @throws LayerloomError OUTPUT_DAMAGED, NOT_LOADABLE
 */
export const verifyCommand = async (options: VerifyCommandOptions): Promise<void> => {
  const { out, againstInputs, sample, seed, loads, key, python, download, threads } = options;
  const result = await watched(options, (watch) =>
    verify(out, { againstInputs, sample, seed, loads, key, python, download, threads, ...watch }),
  );
  if (!options.quiet) result.warnings.forEach(warn);
  const isLoaded = result.loading?.loads !== false;
  if ((result.intact && isLoaded) || !options.json) show(result, options, describe);
  if (!result.intact) throw new LayerloomError('OUTPUT_DAMAGED', { ...result, ...damageOf(result) });
  if (result.loading?.loads !== false) return;
  const { loadedAs } = result.loading;
  throw new LayerloomError('NOT_LOADABLE', {
    ...result,
    loadedAs: loadedAs ?? 'a model',
    faults: faultsOf(result.loading),
  });
};

const describe = (found: OutputVerification): string =>
  [describeOutput(found), ...(found.loading === null ? [] : [describeLoading(found.loading)])].join('\n');
