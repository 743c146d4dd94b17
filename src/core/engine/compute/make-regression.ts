import { itemAt, valueAt } from '../../base/lookup.js';
import { undefinedMerge } from '../../methods/operations/lowering.js';
import type { RegMean } from '../../methods/operations/reg-mean.js';
import { factorsIn, sourcesOfOperand } from '../../plan/operands.js';
import type { Operand } from '../../plan/plan.js';
import { arithmeticOf } from '../../tensor/dtype.js';
import type { Shape } from '../../tensor/reference.js';
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
 * Merges a linear layer's matrices by their Gram matrices, into a shard.
 *
 * @param nameOf for errors
 * @returns true if no NaN or infinity was read or computed
 * @throws LayerloomError NON_FINITE for a Gram matrix, MERGE_UNDEFINED if the system has no solution,
 *   INPUT_SHRANK, READ_FAILED, WRITE_FAILED; and the reason why the pool was stopped
 */
export const makeRegression = async <S>(
  { shard, tensor }: SlabOutput<S>,
  formula: RegMean<Operand>,
  files: OpenFiles<S>,
  pool: WorkerPool,
  inputs: InputFiles,
  nonFinite: NonFiniteShards<S>,
  nameOf: (shard: S) => string,
): Promise<boolean> => {
  const { name, shape, dtype, begin } = tensor;
  const { terms, scaling, ridge } = formula;
  const width = itemAt(shape, 1);
  const square = [width, width];
  const measurer = new BlockMeasurer(pool, inputs, name);
  for (const factor of distinctSources(factorsIn(formula))) await measurer.checkFactor(factor);
  // Never allowed: NaN or infinity in a Gram matrix would spread over the whole result.
  for (const gram of distinctSources(terms.flatMap((term) => sourcesOfOperand(term.gram))))
    await measurer.checkFinite(gram, square, 'make its file of Gram matrices again');
  const matricesOf = (operands: readonly Operand[], of: Shape) =>
    lowerMatrices(operands, of, name, measurer, inputs);
  const matrices = await matricesOf(
    terms.map(({ source }) => source),
    shape,
  );
  const grams = await matricesOf(
    terms.map(({ gram }) => gram),
    square,
  );
  const result = await pool.regress({
    matrices: matrices.program,
    values: matrices.values,
    grams: grams.program,
    of: grams.values,
    shares: terms.map(({ weight }) => weight),
    scaling,
    ridge,
    dtype: arithmeticOf(dtype),
    to: { fd: valueAt(files.outputs, shard), begin },
  });
  if (!result.ok)
    throw failureOf(result.status, { tensor: name, dtype, file: nameOf(shard) }, [
      ...matrices.paths,
      ...grams.paths,
    ]);
  const [column = 0, diagonal = 0, asymmetric = 0] = result.found;
  if (asymmetric > 0) {
    const [source] = sourcesOfOperand(itemAt(terms, asymmetric - 1).gram);
    const file = source === undefined ? '' : inputs.pathOf(source);
    throw undefinedMerge(
      name,
      'regmean',
      `its Gram matrix in ${file} is not symmetric at input ${column - 1}; make the file again, with whole matrices`,
    );
  }
  if (column > 0) throw undefinedMerge(name, 'regmean', reasonOf(column - 1, diagonal));
  const found = firstOf(result.nonFinite);
  if (found === undefined) return true;
  nonFinite.note(shard, tensor, found, describeNonFinite(found, tensor, matrices.paths));
  return false;
};

const reasonOf = (input: number, diagonal: number): string =>
  diagonal < 0
    ? `the diagonal of its Gram matrices is ${diagonal} at input ${input}, and a mean of squares is never negative; make the files again`
    : diagonal > 0
      ? `its Gram matrices do not tell input ${input} from those before it; make them of more rows, or merge with a smaller scaling, or with a ridge such as 1e-6`
      : `the diagonal of its Gram matrices is ${diagonal} at input ${input}, on which no row depends; make them of more rows, or merge with a ridge such as 1e-6`;
