import { type VerifyOutputOptions, verify } from '../../../api/verify.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { checkIntact } from '../../../core/measure/verification/check-intact.js';
import type { OutputVerification } from '../../../core/measure/verification/verification.js';
import type { OutputOptions } from '../../options/output.js';
import { note, warn } from '../../print.js';
import { describeLoading, faultsOf } from '../../text/loading-text.js';
import { describeProof } from '../../text/models/proof-text.js';
import { describeSample } from '../../text/models/sample-text.js';
import { describeOutput } from '../../text/models/verification-text.js';
import { show, watched } from '../running/show.js';

interface VerifyCommandOptions
  extends OutputOptions,
    Omit<VerifyOutputOptions, 'onProgress' | 'onSample' | 'signal'> {
  readonly out: string;
}

/**
 * With `--json`, a damaged output prints its result only as `details` of the error.
 *
 * @throws OUTPUT_DAMAGED, NOT_LOADABLE
 */
export const verifyCommand = async (options: VerifyCommandOptions): Promise<void> => {
  const { out, against, againstInputs, sample, seed, loads, python, download, threads } = options;
  const { key, identity, issuer } = options;
  const given = { againstInputs, sample, seed, loads, key, identity, issuer, python, download, threads };
  if (against !== undefined) return await proveCommand(out, options, { ...given, against });
  const result = await watched(options, (watch) => verify(out, { ...given, ...watch, against }));
  if (!options.quiet) result.warnings.forEach(warn);
  const isLoaded = result.loading?.loads !== false;
  if ((result.intact && isLoaded) || !options.json) show(result, options, describe);
  checkIntact(result);
  if (result.loading?.loads !== false) return;
  const { loadedAs } = result.loading;
  throw new LayerloomError('NOT_LOADABLE', {
    ...result,
    loadedAs: loadedAs ?? 'a model',
    faults: faultsOf(result.loading),
  });
};

/** Like `diff --exit-code`, prints the result and exits with 1 if the output differs. */
const proveCommand = async (
  out: string,
  options: OutputOptions,
  given: VerifyOutputOptions & { readonly against: string },
): Promise<void> => {
  const proof = await watched(options, (watch) =>
    verify(out, {
      ...{ ...given, ...watch },
      onSample: (sample) => (options.quiet ? undefined : note(describeSample(sample))),
    }),
  );
  if (!options.quiet) proof.warnings.forEach(warn);
  show(proof, options, describeProof);
  if (proof.verdict !== 'intact' && proof.verdict !== 'rounded') process.exitCode = 1;
};

const describe = (found: OutputVerification): string =>
  [describeOutput(found), ...(found.loading === null ? [] : [describeLoading(found.loading)])].join('\n');
