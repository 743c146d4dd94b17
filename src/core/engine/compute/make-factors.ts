import { LayerloomError } from '../../base/errors.js';
import { valueAt } from '../../base/lookup.js';
import { optionName } from '../../base/option-name.js';
import { type FactorDtype, factorDtypes } from '../../native/factorise.js';
import type { Location } from '../../native/job.js';
import { computedTensor } from '../../plan/operands/computed.js';
import { factorsIn, sourcesOf } from '../../plan/operands.js';
import type { Dtype } from '../../tensor/dtype.js';
import { distinctSources } from '../../tensor/stored-tensor.js';
import type { InputFiles } from '../input-files.js';
import type { WorkerPool } from '../threads/pool.js';
import { type Factors, factoriseMatrix } from './factorise.js';
import type { OpenFiles } from './jobs.js';
import { BlockMeasurer } from './measure.js';
import type { Slab, SlabOutput } from './tasks.js';

/**
 * Writes both factors of a matrix into a shard.
 *
 * @param nameOf for errors
 * @throws LayerloomError NON_FINITE, and the codes of `factoriseMatrix`
 */
export const makeFactors = async <S>(
  { outputs }: Slab<S>,
  files: OpenFiles<S>,
  pool: WorkerPool,
  inputs: InputFiles,
  nameOf: (shard: S) => string,
): Promise<{ matrix: string; factors: Factors }> => {
  const [left, right] = [sideOf(outputs, 'left'), sideOf(outputs, 'right')];
  const { expression, output } = right;
  const { of, shape, terms } = expression;
  // First: pruning would drop NaN and infinity, and with them whole rows and columns.
  const measurer = new BlockMeasurer(pool, inputs, of);
  for (const factor of distinctSources(factorsIn(expression))) await measurer.checkFactor(factor);
  const at = ({ shard, tensor }: SlabOutput<S>): Location => ({
    fd: valueAt(files.outputs, shard),
    begin: tensor.begin,
  });
  const factors = await factoriseMatrix(pool, inputs, {
    tensor: of,
    seed: '0',
    shape,
    matrix: computedTensor('F32', {
      kind: 'linear',
      terms: terms.map(({ source, coefficient }) => ({ source, weight: coefficient })),
    }),
    rank: Number(output.tensor.shape[0]),
    dtype: factorDtypeOf(output.tensor.dtype),
    transposed: false,
    left: at(left.output),
    right: at(output),
    file: nameOf(output.shard),
  });
  if (factors.nonFinite > 0) {
    const model = inputs.namesOf(sourcesOf(expression)).join(' and ');
    throw new LayerloomError('NON_FINITE', {
      tensors: [{ tensor: of, model, count: factors.nonFinite }],
      remedy: `mend the adapter, or merge without ${optionName('rank')}`,
    });
  }
  return { matrix: of, factors };
};

const sideOf = <S>(outputs: readonly SlabOutput<S>[], side: 'left' | 'right') => {
  for (const output of outputs) {
    const { expression } = output.tensor;
    if (expression.kind === 'factor' && expression.side === side) return { output, expression };
  }
  throw new Error(`a matrix has no ${side} factor`);
};

const factorDtypeOf = (dtype: Dtype): FactorDtype => {
  const found = factorDtypes.find((one) => one === dtype);
  if (found === undefined) throw new Error(`factors are not written in ${dtype}`);
  return found;
};
