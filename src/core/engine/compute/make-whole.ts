import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt, valueAt } from '../../base/errors/lookup.js';
import { optionName } from '../../base/errors/option-name.js';
import { isWhole, type MadeWhole } from '../../methods/operations/index.js';
import type { Factor } from '../../methods/operations/means/factor.js';
import type { RegMean } from '../../methods/operations/means/reg-mean.js';
import type { Spectral } from '../../methods/operations/means/spectral.js';
import { undefinedMerge } from '../../methods/operations/program/lowering.js';
import type { Location } from '../../native/job.js';
import { factorDtypes } from '../../native/solve.js';
import { computedTensor } from '../../plan/operands/computed.js';
import { factorsIn, sourcesOf, sourcesOfOperand } from '../../plan/operands.js';
import type { Operand, PlannedTensor } from '../../plan/plan.js';
import { arithmeticOf } from '../../tensor/dtype.js';
import { distinctSources } from '../../tensor/stored-tensor.js';
import type { InputFiles } from '../input-files.js';
import type { WorkerPool } from '../threads/pool.js';
import type { OpenFiles } from './jobs.js';
import { type Factors, factorisation, factorsOf } from './measures/factorise.js';
import { BlockMeasurer } from './measures/measure.js';
import { describeNonFinite, firstOf, type NonFiniteShards } from './measures/non-finite.js';
import { type Lowerer, lowerMatrices, type Solving, solve } from './measures/solve.js';
import { computedOf, type Slab } from './tasks.js';

export interface WholeSink<S> {
  nameOf(shard: S): string;
  factorised?(matrix: string, factors: Factors): void;
}

export interface WholeMeans<S> {
  readonly files: OpenFiles<S>;
  readonly pool: WorkerPool;
  readonly inputs: InputFiles;
  readonly nonFinite: NonFiniteShards<S>;
  readonly sink: WholeSink<S>;
}

interface Target extends Lowerer {
  readonly measurer: BlockMeasurer;
  readonly output: PlannedTensor;
  /** Returns where a factor is written; without `side`, the tensor. */
  at(side?: 'left' | 'right'): Location;
}

interface Making extends Solving {
  /** Throws if the solver's numbers show that there is no result. */
  readonly check?: (found: Float64Array) => void;
}

/**
 * Makes a whole tensor by a solver.
 *
 * @returns true if no NaN or infinity was read or computed
 * @throws NON_FINITE for factors and Gram matrices, MERGE_UNDEFINED if there is no result, and the codes of
 * `solve`
 */
export const makeWhole = async <S>(
  { outputs }: Slab<S>,
  { files, pool, inputs, sink, nonFinite }: WholeMeans<S>,
): Promise<boolean> => {
  const { shard, tensor: output } = itemAt(outputs, 0);
  const { expression, dtype } = output;
  if (!isWhole(expression)) throw new Error(`${output.name} has no solver`);
  const tensor = computedOf(output).name;
  const measurer = new BlockMeasurer(pool, inputs, tensor);
  // Checks first, because factorising would silently drop rows and columns with NaN or infinity.
  for (const factor of distinctSources(factorsIn(expression))) await measurer.checkFactor(factor);
  const { check, ...solving } = await makingOf(expression, {
    ...{ tensor, measurer, inputs, output },
    at: (side) => {
      const to = outputs.find(
        ({ tensor: { expression: one } }) => one.kind !== 'factor' || one.side === side,
      );
      if (to === undefined) throw new Error(`${tensor} has no ${side} factor`);
      return { fd: valueAt(files.outputs, to.shard), begin: to.tensor.begin };
    },
  });
  const solved = await solve(pool, solving, { tensor, dtype, file: sink.nameOf(shard) });
  check?.(solved.found);
  if (expression.kind === 'factor') sink.factorised?.(tensor, factorsOf(solved.found));
  const found = firstOf(solved.nonFinite);
  if (found === undefined) return true;
  nonFinite.note(shard, output, found, describeNonFinite(found, output, solving.sources[0]));
  return false;
};

const makingOf = (formula: MadeWhole<Operand>, target: Target): Promise<Making> => {
  switch (formula.kind) {
    case 'factor':
      return factors(formula, target);
    case 'regMean':
      return regression(formula, target);
    case 'spectral':
      return spectra(formula, target);
  }
};

const factors = async (formula: Factor<Operand>, target: Target): Promise<Making> => {
  const { of, side, shape, terms } = formula;
  const { output, inputs, at } = target;
  const dtype = factorDtypes.find((one) => one === output.dtype);
  if (dtype === undefined) throw new Error(`factors are not written in ${output.dtype}`);
  const matrix = computedTensor('F32', {
    kind: 'linear',
    terms: terms.map(({ source, coefficient }) => ({ source, weight: coefficient })),
  });
  const rank = Number(output.shape[side === 'left' ? 1 : 0]);
  const how = { tensor: of, seed: '0', shape, matrix, rank, dtype, transposed: false };
  const solving = await factorisation({ ...how, left: at('left'), right: at('right') }, target);
  return {
    ...solving,
    check: (found) => {
      const { nonFinite: count } = factorsOf(found);
      const model = inputs.namesOf(sourcesOf(formula)).join(' and ');
      if (count > 0)
        throw new LayerloomError('NON_FINITE', {
          tensors: [{ tensor: of, model, count }],
          remedy: `mend the adapter, or merge without ${optionName('rank')}`,
        });
    },
  };
};

const regression = async ({ terms, scaling, ridge }: RegMean<Operand>, target: Target): Promise<Making> => {
  const { tensor, output, measurer, inputs } = target;
  const width = itemAt(output.shape, 1);
  const square = [width, width];
  const [ofModels, ofInputs] = [terms.map(({ source }) => source), terms.map(({ gram }) => gram)];
  // Always refuses NaN and infinity in a Gram matrix, which would spread over the whole result.
  for (const gram of distinctSources(ofInputs.flatMap(sourcesOfOperand)))
    await measurer.checkFinite(gram, square, 'make its file of Gram matrices again');
  const matrices = await lowerMatrices(ofModels, output.shape, target);
  const grams = await lowerMatrices(ofInputs, square, target);
  return {
    solver: {
      kind: 'regress',
      matrices: matrices.program,
      values: matrices.values,
      grams: grams.program,
      of: grams.values,
      shares: terms.map(({ weight }) => weight),
      scaling,
      ridge,
      dtype: arithmeticOf(output.dtype),
      to: target.at(),
    },
    sources: [matrices.paths, grams.paths],
    check: ([column = 0, diagonal = 0, asymmetric = 0]) => {
      if (column === 0) return;
      if (asymmetric === 0) throw undefinedMerge(tensor, 'regmean', reasonOf(column - 1, diagonal));
      const files = sourcesOfOperand(itemAt(ofInputs, asymmetric - 1)).map(inputs.pathOf);
      throw undefinedMerge(
        tensor,
        'regmean',
        `its Gram matrix in ${files.join(' and ')} is not symmetric at input ${column - 1}; make the file again, with whole matrices`,
      );
    },
  };
};

const reasonOf = (input: number, diagonal: number): string =>
  diagonal < 0
    ? `the diagonal of its Gram matrices is ${diagonal} at input ${input}, and a mean of squares is never negative; make the files again`
    : diagonal > 0
      ? `its Gram matrices do not tell input ${input} from those before it; make them of more rows, or merge with a smaller scaling, or with a ridge such as 1e-6`
      : `the diagonal of its Gram matrices is ${diagonal} at input ${input}, on which no row depends; make them of more rows, or merge with a ridge such as 1e-6`;

const spectra = async (
  { rule, base, sources, scale }: Spectral<Operand>,
  target: Target,
): Promise<Making> => {
  const { output, at } = target;
  const { program, values, paths } = await lowerMatrices([base, ...sources], output.shape, target);
  const [first = 0, ...others] = values;
  const how = { rule, program, base: first, sources: others, scale };
  return {
    solver: { kind: 'mergeSpectra', ...how, dtype: arithmeticOf(output.dtype), to: at() },
    sources: [paths],
  };
};
