import { valueAt } from '../../base/lookup.js';
import type { Spectral } from '../../methods/operations/spectral.js';
import { factorsIn } from '../../plan/operands.js';
import type { Operand } from '../../plan/plan.js';
import { arithmeticOf } from '../../tensor/dtype.js';
import { distinctSources } from '../../tensor/stored-tensor.js';
import type { InputFiles } from '../input-files.js';
import { failureOf } from '../threads/errors.js';
import type { WorkerPool } from '../threads/pool.js';
import type { OpenFiles } from './jobs.js';
import { lowerMatrices } from './matrices.js';
import { BlockMeasurer } from './measure.js';
import { describeNonFinite, firstOf, type NonFiniteShards } from './non-finite.js';
import type { SlabOutput } from './tasks.js';

/**
 * Merges matrices by singular values, into a shard.
 *
 * @param nameOf for errors
 * @returns true if no NaN or infinity was read or computed
 * @throws LayerloomError INPUT_SHRANK, READ_FAILED, WRITE_FAILED; and the reason why the pool was stopped
 */
export const makeSpectral = async <S>(
  { shard, tensor }: SlabOutput<S>,
  formula: Spectral<Operand>,
  files: OpenFiles<S>,
  pool: WorkerPool,
  inputs: InputFiles,
  nonFinite: NonFiniteShards<S>,
  nameOf: (shard: S) => string,
): Promise<boolean> => {
  const { name, shape, dtype, begin } = tensor;
  const measurer = new BlockMeasurer(pool, inputs, name);
  for (const factor of distinctSources(factorsIn(formula))) await measurer.checkFactor(factor);
  const { program, values, paths } = await lowerMatrices(
    [formula.base, ...formula.sources],
    shape,
    name,
    measurer,
    inputs,
  );
  const [base = 0, ...sources] = values;
  const result = await pool.mergeSpectra({
    rule: formula.rule,
    program,
    base,
    sources,
    scale: formula.scale,
    dtype: arithmeticOf(dtype),
    to: { fd: valueAt(files.outputs, shard), begin },
  });
  if (!result.ok) throw failureOf(result.status, { tensor: name, dtype, file: nameOf(shard) }, paths);
  const found = firstOf(result.nonFinite);
  if (found === undefined) return true;
  nonFinite.note(shard, tensor, found, describeNonFinite(found, tensor, paths));
  return false;
};
