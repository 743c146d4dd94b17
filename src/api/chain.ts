import { type Chain, modelsOf } from '../core/attestation/chain.js';
import { ChainWalk } from '../core/attestation/follow-chain.js';
import { Run, type RunControls } from '../core/engine/run.js';
import { locateText } from '../core/models/sources/locate.js';

/** Options of `chain`. */
export interface ChainOptions extends Pick<RunControls, 'threads' | 'signal' | 'onProgress'> {}

/**
 * Follows statements from a merge or a GGUF file to the experts that it was made from. Reads each file and
 * compares it with its stated SHA-256. Reports inputs that are missing or replaced, and never guesses.
 * Changes nothing.
 *
 * @example const { complete, root } = await chain('./merged')
 * @param out a directory, a GGUF file, or `org/name[@revision]` of the hub cache
 * @throws LayerloomError MODEL_NOT_FOUND, INVALID_PARAMETER, READ_FAILED, INTERRUPTED
 */
export const chain = async (out: string, controls: ChainOptions = {}): Promise<Chain> => {
  const started = performance.now();
  const { path } = await locateText(out);
  await using run = new Run(controls, false);
  try {
    const root = await new ChainWalk(run).follow(path);
    const models = modelsOf(root);
    const isWhole = models.every(
      ({ link, statement }) => (link === 'asked' || link === 'same') && statement !== 'invalid',
    );
    return {
      out: path,
      complete: isWhole && root.statement === 'valid',
      root,
      seconds: (performance.now() - started) / 1000,
      warnings:
        root.statement === 'none' ? [`${path} has no statement, so it is unknown what it was made from`] : [],
    };
  } catch (error) {
    throw run.reasonOf(error, {});
  }
};
