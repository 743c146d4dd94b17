import { valueAt } from '../../base/lookup.js';
import { Program, type Value } from '../../operations/program.js';
import type { Spectral } from '../../operations/spectral.js';
import { factorsIn, lowerOperand } from '../../plan/operands.js';
import type { Operand } from '../../plan/plan.js';
import { arithmeticOf } from '../../tensor/dtype.js';
import { distinctSources } from '../../tensor/stored-tensor.js';
import type { InputFiles } from '../input-files.js';
import { failureOf } from '../threads/errors.js';
import type { WorkerPool } from '../threads/pool.js';
import type { OpenFiles } from './jobs.js';
import { BlockMeasurer } from './measure.js';
import { nativeProgram } from './native-program.js';
import { describeNonFinite, firstOf, type NonFiniteShards } from './non-finite.js';
import type { SlabOutput } from './tasks.js';

/**
 * Merges matrices by singular values, in the result's place in a shard.
 *
 * @param nameOf the shard's name, for errors
 * @returns true if nothing that is not finite was computed, or computed with
 * @throws LayerloomError INPUT_SHRANK, READ_FAILED, WRITE_FAILED; and the reason to stop, of a pool that is stopped
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
  const program = new Program(shape, inputs.idOf);
  const values: Value[] = [];
  for (const operand of [formula.base, ...formula.sources])
    values.push(await lowerOperand(operand, { tensor: name, program, measurer }));
  const emitted = program.emit(values, 'all');
  const [base = 0, ...sources] = emitted.values;
  const result = await pool.mergeSpectra({
    program: nativeProgram(emitted, (source) => inputs.fdOf(source), { first: 0, count: program.elements }),
    base,
    sources,
    scale: formula.scale,
    dtype: arithmeticOf(dtype),
    to: { fd: valueAt(files.outputs, shard), begin },
  });
  const paths = emitted.sources.map((source) => inputs.pathOf(source));
  if (!result.ok) throw failureOf(result.status, { tensor: name, dtype, file: nameOf(shard) }, paths);
  const found = firstOf(result.nonFinite);
  if (found === undefined) return true;
  nonFinite.note(shard, tensor, found, describeNonFinite(found, tensor, paths));
  return false;
};
