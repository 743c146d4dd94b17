import { itemAt } from '../../lookup.js';
import type { MajoritySign } from '../../methods/framework/method.js';
import { difference } from '../../operations/lowering.js';
import type { Measurer } from '../../operations/measurer.js';
import { Program, type Value } from '../../operations/program.js';
import { selectMagnitudes } from '../../operations/select-magnitudes.js';
import { keepReaching } from '../../operations/sparsifiers.js';
import { lowerOperand, sourcesOfOperand } from '../../plan/operands.js';
import type { Operand, PlannedInput } from '../../plan/plan.js';
import { floatOfBits } from '../../tensor/float-bits.js';
import { bytesOfSources } from '../../tensor/stored-tensor.js';
import { type Progress, Run, type RunControls } from '../run.js';
import { BlockMeasurer, sampleElements } from './measure.js';

/** A tensor as a base and experts have it. */
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
  /** Of each expert: its difference from the base, rounded to float32. */
  readonly changes: readonly Value[];
}

/** Parameters of a model whose sample is worth its passes. */
const largeModel = 2 ** 26;

/** Does work over the task vectors of all tensors. */
const overTaskVectors = async <T>(
  inputs: readonly PlannedInput[],
  tensors: readonly ComparedTensor[],
  options: RunControls,
  work: (written: readonly Written[]) => Promise<T>,
): Promise<T> => {
  await using run = new Run(options);
  const { pool } = run;
  const sources = tensors.flatMap(({ base, experts }) => [base, ...experts].flatMap(sourcesOfOperand));
  const total = bytesOfSources(sources);
  const opened = await run.open(inputs, sources);
  const progress = (): Progress => ({
    phase: 'analysis',
    done: Math.min(total, pool.counters.bytesRead),
    total,
  });
  try {
    return await run.reporting(progress, async () => {
      const written: Written[] = [];
      for (const { name, shape, base, experts } of tensors) {
        const program = new Program(shape);
        const measurer = new BlockMeasurer(pool, opened, name);
        const to = { tensor: name, program, measurer };
        const origin = await lowerOperand(base, to);
        const changes: Value[] = [];
        for (const expert of experts) changes.push(difference(to, await lowerOperand(expert, to), origin));
        written.push({ name, program, measurer, changes });
      }
      const result = await work(written);
      await opened.verify();
      return result;
    });
  } catch (error) {
    throw run.reasonOf(error, {});
  }
};

/** What TIES' authors take from all tensors together. */
export interface Trimming {
  /** Of each expert the magnitude from which on changes stay. */
  readonly thresholds: readonly number[];
  /** The sign of Σ sign(Σ of the changes that stay at the element). */
  readonly majoritySign: MajoritySign;
}

/**
 * The magnitude that each expert's task vector is cut at, over all tensors together: as in the authors' code the (⌊share · n⌋ + 1)-th largest,
 * which stays with all that equal it, so that more than that share stays; and then the sign that prevails.
 */
export const findTrimming = (
  inputs: readonly PlannedInput[],
  tensors: readonly ComparedTensor[],
  shares: readonly number[],
  options: RunControls,
): Promise<Trimming> =>
  overTaskVectors(inputs, tensors, options, async (written) => {
    const size = written.reduce((total, { program }) => total + program.elements, 0);
    const wanted = shares.map((share) => ({ rank: Math.min(size, Math.floor(share * size) + 1) }));
    const statistics = await selectMagnitudes(
      wanted,
      size,
      async (indexes, windows, bins, sample) => {
        const above = indexes.map(() => 0);
        const counts = indexes.map(() => new Uint32Array(bins));
        let elements = 0;
        for (const { program, measurer, changes } of written) {
          const values = indexes.map((index) => changes[index] as Value);
          const found = await measurer.histogram(program, values, windows, bins, sample);
          elements += found.elements;
          for (const [position, more] of found.counts.entries()) {
            above[position] = (above[position] ?? 0) + (found.above[position] ?? 0);
            const sum = counts[position] as Uint32Array;
            for (const [bin, count] of more.entries()) if (count !== 0) sum[bin] = (sum[bin] ?? 0) + count;
          }
        }
        return { above, counts, exact: [], elements };
      },
      size < largeModel ? 0 : written.reduce((total, { program }) => total + sampleElements(program), 0),
    );
    const thresholds = statistics.map(({ bits }) => floatOfBits(bits));
    return { thresholds, majoritySign: await majoritySignOf(written, thresholds) };
  });

/** Sums are taken as elections take them, so that the same changes cancel. The total is of whole numbers: its sum has no order. */
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
    const [signs = 0] = await measurer.signs(program, [sum]);
    total += signs;
  }
  return Math.sign(total) as MajoritySign;
};

/** Σ |expert − base| of each tensor, for each expert. */
export const sumMagnitudes = (
  inputs: readonly PlannedInput[],
  tensors: readonly ComparedTensor[],
  options: RunControls,
): Promise<Float64Array[]> =>
  overTaskVectors(inputs, tensors, options, (written) =>
    Promise.all(written.map(({ program, measurer, changes }) => measurer.magnitudes(program, changes))),
  );
