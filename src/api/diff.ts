import { compareModels } from '../comparison/compare-models.js';
import type { Comparison } from '../comparison/comparison.js';
import type { RunControls } from '../engine/run.js';
import { LayerloomError } from '../errors.js';
import { matches } from '../experiment/match-names.js';

export interface DiffOptions extends RunControls {
  /** Compares the tensors whose names match, `*` standing for any text. Default: all. */
  only?: string | undefined;
}

/**
 * Compares two checkpoints: which tensors differ, by how much, and which files beside the weights. Tensors are
 * compared by name, however they are laid out in shards; dtypes may differ. Numbers are the same on every
 * instruction set and for every number of threads. Bytes that are equal cost no arithmetic, and a file that both
 * checkpoints link to is not read.
 *
 * @param a a directory, a `.safetensors` file, `org/name[@revision]` in the hub cache, or `NAME=MODEL`
 * @param b likewise; differences are relative to `a`
 * @returns plain data; `equal` is true if all tensors have the same dtypes, shapes and bytes
 * @throws LayerloomError NAMING_MISMATCH (Meta's names against Hugging Face's), INVALID_PARAMETER, INPUT_CHANGED, INPUT_SHRANK,
 *   READ_FAILED, INTERRUPTED, the codes of `openCheckpoint`
 */
export const diff = async (
  a: string,
  b: string,
  { only, ...controls }: DiffOptions = {},
): Promise<Comparison> => {
  const found = await compareModels(a, b, (name) => only === undefined || matches(name, only), controls);
  if (found.tensors.length === 0)
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'only',
      value: only,
      expected: `a pattern of tensor names such as "*.mlp.*", with a match in ${found.a.path} or ${found.b.path}`,
    });
  return found;
};
