import { LayerloomError } from '../base/errors/errors.js';
import { digestWeights } from '../engine/output/weight-digests.js';
import { Run } from '../engine/run.js';
import type { WeightDigests } from '../statements/merge-statement.js';

/**
 * Hashes a folder's weights and their tensors.
 *
 * @returns undefined if weights are missing or not safetensors
 * @throws INTERRUPTED
 */
export const digestsOf = async (
  directory: string,
  shards: readonly string[],
  run: Run,
): Promise<WeightDigests | undefined> => {
  // Uses its own pool, because an unreadable file stops it.
  await using own = new Run({ threads: run.pool.threads, signal: run.signal }, false);
  try {
    return await digestWeights(directory, shards, own.pool, (done, total) =>
      run.report({ phase: 'checksums', done, total }),
    );
  } catch (error) {
    if (error instanceof LayerloomError && error.code !== 'INTERRUPTED') return undefined;
    throw error;
  }
};
