import { itemAt } from '../../../base/errors/lookup.js';
import type { MajoritySign } from '../../../methods/framework/declaration/method.js';
import { CountSums } from '../../../methods/operations/program/count-sums.js';
import { difference } from '../../../methods/operations/program/lowering.js';
import type { Measurer } from '../../../methods/operations/program/measurer.js';
import { Program, type Value } from '../../../methods/operations/program/program.js';
import { selectMagnitudes } from '../../../methods/operations/program/select-magnitudes.js';
import { keepReaching } from '../../../methods/operations/votes/sparsifiers.js';
import { lowerOperand, sourcesOfOperand } from '../../../plan/operands.js';
import type { Operand, PlannedInput } from '../../../plan/plan.js';
import { floatOfBits } from '../../../tensor/float-bits.js';
import { overInputs, type RunControls } from '../../run.js';
import type { WorkerPool } from '../../threads/pool.js';
import { BlockMeasurer, sampleElements } from './measure.js';

export interface ComparedTensor {
  readonly name: string;
  readonly shape: readonly number[];
  readonly base: Operand;
  readonly experts: readonly Operand[];
}

interface Written {
  readonly name: string;
  readonly program: Program;
  readonly measurer: Measurer;
  readonly changes: readonly Value[];
}

export interface WholeModelOptions extends RunControls {
  /** Allows NaN or infinite sums, which otherwise throw NON_FINITE. */
  allowNonFinite?: boolean | undefined;
}

const leaveAlone = (): void => undefined;

/** In smaller models, a sample would not save a pass. */
const largeModel = 2 ** 26;

const overTaskVectors = async <T>(
  planned: readonly PlannedInput[],
  tensors: readonly ComparedTensor[],
  { allowNonFinite = false, ...controls }: WholeModelOptions,
  work: (written: readonly Written[], pool: WorkerPool) => Promise<T>,
): Promise<T> => {
  const sources = tensors.flatMap(({ base, experts }) => [base, ...experts].flatMap(sourcesOfOperand));
  const { result } = await overInputs(controls, 'analysis', planned, sources, async (pool, inputs) => {
    const written: Written[] = [];
    for (const { name, shape, base, experts } of tensors) {
      const program = new Program(shape);
      const measurer = new BlockMeasurer(pool, inputs, name, ...(allowNonFinite ? [leaveAlone] : []));
      const to = { tensor: name, program, measurer };
      const origin = await lowerOperand(base, to);
      const changes: Value[] = [];
      for (const expert of experts) changes.push(difference(to, await lowerOperand(expert, to), origin));
      written.push({ name, program, measurer, changes });
    }
    return await work(written, pool);
  });
  return result;
};

/** Whole-model numbers of TIES, as its authors compute them. */
export interface Trimming {
  readonly thresholds: readonly number[];
  /** Sign of Σ sign(Σ kept changes) over all elements. */
  readonly majoritySign: MajoritySign;
}

/**
 * Finds one threshold per expert, over all tensors together. As in the authors' code, it is the (⌊share·n⌋
 * + 1)-th largest magnitude, and all elements equal to it are kept, which may exceed the share. The majority
 * sign is that of trimmed changes.
 *
 * @param shares share of elements to keep, by expert
 * @throws INPUT_CHANGED, INPUT_SHRANK, READ_FAILED, INTERRUPTED
 */
export const findTrimming = (
  inputs: readonly PlannedInput[],
  tensors: readonly ComparedTensor[],
  shares: readonly number[],
  options: WholeModelOptions,
): Promise<Trimming> =>
  overTaskVectors(inputs, tensors, options, async (written) => {
    const size = written.reduce((total, { program }) => total + program.elements, 0);
    const wanted = shares.map((share) => ({ rank: Math.min(size, Math.floor(share * size) + 1) }));
    const statistics = await selectMagnitudes(
      wanted,
      size,
      async (indexes, windows, bins, sample) => {
        const sums = new CountSums(indexes.length, bins);
        for (const { program, measurer, changes } of written) {
          const values = indexes.map((index) => itemAt(changes, index));
          sums.add(await measurer.histogram(program, values, windows, bins, sample));
        }
        return { ...sums, exact: [] };
      },
      size < largeModel ? 0 : written.reduce((total, { program }) => total + sampleElements(program), 0),
    );
    const thresholds = statistics.map(({ bits }) => floatOfBits(bits));
    return { thresholds, majoritySign: await majoritySignOf(written, thresholds) };
  });

/** Sums trimmed changes in float32, in the order of `vote`, so that the same elements cancel. */
const majoritySignOf = async (
  written: readonly Written[],
  thresholds: readonly number[],
): Promise<MajoritySign> => {
  let total = 0;
  for (const { program, measurer, changes } of written) {
    const kept = changes.map((change, index) => keepReaching(program, change, itemAt(thresholds, index), 1));
    const sum = program.linear(
      kept,
      kept.map(() => 1),
    );
    total += itemAt(await measurer.signs(program, [sum]), 0);
  }
  return Math.sign(total) as MajoritySign;
};

/**
 * For each tensor, sums |expert − base| by expert.
 *
 * @throws as `findTrimming`, and NON_FINITE
 */
export const sumMagnitudes = (
  inputs: readonly PlannedInput[],
  tensors: readonly ComparedTensor[],
  options: WholeModelOptions,
): Promise<Float64Array[]> =>
  overTaskVectors(inputs, tensors, options, async (written, pool) => {
    const sums: Float64Array[] = [];
    // Takes few tensors at a time: tasks for all blocks of a large model would need hundreds of megabytes.
    await pool.eachInLanes(written.entries(), async ([index, { program, measurer, changes }]) => {
      sums[index] = await measurer.magnitudes(program, changes);
    });
    return sums;
  });
