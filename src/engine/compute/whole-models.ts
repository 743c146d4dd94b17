import { LayerloomError } from '../../errors.js';
import type { MajoritySign } from '../../methods/framework/method.js';
import { isSource, type Operand, type PlannedInput, sourcesOfOperand } from '../../plan/plan.js';
import type { ArithmeticDtype } from '../../tensor/dtype.js';
import { floatOfBits } from '../../tensor/float-bits.js';
import { InputFiles } from '../input-files.js';
import { checkThreads, reporter } from '../run-plan.js';
import { WorkerPool } from '../threads/pool.js';
import { lower, reaching } from './lower.js';
import { Measurer, sampleElements } from './measure.js';
import { Program, type Value } from './program.js';
import type { ReduceOptions } from './reduce.js';
import { selectMagnitudes } from './select.js';

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

/** Runs work over the task vectors of all tensors. */
const overTaskVectors = async <T>(
  inputs: readonly PlannedInput[],
  tensors: readonly ComparedTensor[],
  options: ReduceOptions,
  work: (written: readonly Written[]) => Promise<T>,
): Promise<T> => {
  const threads = checkThreads(options.threads);
  const signal = options.signal ?? new AbortController().signal;
  const sources = tensors.flatMap(({ base, experts }) => [base, ...experts].flatMap(sourcesOfOperand));
  const total = sources.reduce((sum, { begin, end }) => sum + end - begin, 0);
  await using opened = await InputFiles.open(inputs, sources);
  await using pool = new WorkerPool(threads, signal);
  const report = reporter(options.onProgress, pool);
  const tick = () => report({ phase: 'analysis', done: Math.min(total, pool.counters.bytesRead), total });
  const timer = setInterval(tick, 100);
  try {
    const written: Written[] = [];
    for (const { name, shape, base, experts } of tensors) {
      const program = new Program(shape);
      const measurer = new Measurer(pool, opened, name);
      const write = async (operand: Operand): Promise<Value> =>
        isSource(operand)
          ? program.source(operand)
          : await lower(operand.expression, operand.dtype as ArithmeticDtype, {
              tensor: name,
              program,
              measurer,
            });
      const origin = await write(base);
      const changes: Value[] = [];
      for (const expert of experts)
        changes.push(program.add('linear', [await write(expert), origin], [1, -1]));
      written.push({ name, program, measurer, changes });
    }
    const result = await work(written);
    await opened.verify();
    pool.throwIfStopped();
    return result;
  } catch (error) {
    throw signal.aborted ? new LayerloomError('INTERRUPTED', {}, { cause: error }) : error;
  } finally {
    clearInterval(timer);
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
  options: ReduceOptions,
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
    const kept = changes.map((change, index) => reaching(program, change, thresholds[index] ?? 0, 1));
    const sum = program.add(
      'linear',
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
  options: ReduceOptions,
): Promise<Float64Array[]> =>
  overTaskVectors(inputs, tensors, options, (written) =>
    Promise.all(written.map(({ program, measurer, changes }) => measurer.magnitudes(program, changes))),
  );
