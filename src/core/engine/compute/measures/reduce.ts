import { itemAt } from '../../../base/errors/lookup.js';
import type { Lowering } from '../../../methods/operations/program/lowering.js';
import type { Measurer } from '../../../methods/operations/program/measurer.js';
import { Program, type Value } from '../../../methods/operations/program/program.js';
import type { Measure } from '../../../native/measure.js';
import { lowerOperand } from '../../../plan/operands.js';
import {
  type PlannedReduction,
  type ReductionPlan,
  rowsOf,
  sourcesOfReduction,
} from '../../../plan/reports/reduction.js';
import { pairIndex } from '../../../tensor/pair-index.js';
import type { InputFiles } from '../../input-files.js';
import { overInputs, type RunControls } from '../../run.js';
import type { WorkerPool } from '../../threads/pool.js';
import { BlockSums, blocksOf, type ElementRange, measureBlock, type TensorMeasures } from './blocks.js';
import { BlockMeasurer } from './measure.js';

export type ReduceOptions = RunControls;

export interface ReducedTensor {
  /** For each expert, Σ |expert − base| by row. */
  readonly magnitudes: readonly Float64Array[];
  /** For each pair i ≤ j: Σ δᵢδⱼ, how many elements both changed, how many in the same direction. */
  readonly pairs: Float64Array;
  readonly nonFinite: readonly number[];
}

export interface Reduced<T> {
  readonly tensors: readonly T[];
  readonly bytesRead: number;
  readonly threads: number;
  readonly seconds: number;
}

interface Reducing {
  readonly wanted: TensorMeasures;
  readonly program: Program;
  readonly isEmpty: boolean;
  readonly resultOf: (found: readonly Float64Array[]) => ReducedTensor;
}

interface BlockOf {
  readonly index: number;
  readonly tensor: Reducing;
  readonly block: ElementRange;
  readonly sums: BlockSums;
}

interface Lowered {
  readonly base: Value | undefined;
  readonly experts: readonly {
    readonly index: number;
    /** The tensor itself, or its difference from the base. */
    readonly value: Value;
    readonly difference: Value;
  }[];
}

const lowerReduction = async ({ base, experts }: PlannedReduction, to: Lowering): Promise<Lowered> => {
  const ofBase = base === null ? undefined : await lowerOperand(base, to);
  const lowered: Lowered['experts'][number][] = [];
  for (const [index, expert] of experts.entries()) {
    if (expert.kind === 'change') {
      const change = await lowerOperand(expert.change, to);
      const difference = to.program.linear([change], [expert.scale]);
      lowered.push({ index, value: difference, difference });
    } else if (expert.kind === 'tensor') {
      if (ofBase === undefined) throw new Error(`${to.tensor} has no base`);
      const value = await lowerOperand(expert.tensor, to);
      lowered.push({ index, value, difference: to.program.linear([value, ofBase], [1, -1]) });
    }
  }
  return { base: ofBase, experts: lowered };
};

const reducing = async (
  reduction: PlannedReduction,
  pairs: boolean,
  measurer: Measurer,
): Promise<Reducing> => {
  const { name: tensor, shape, rows } = reduction;
  const program = new Program(shape);
  const { base, experts } = await lowerReduction(reduction, { tensor, program, measurer });
  const emitted = program.emit([
    ...(base === undefined ? [] : [base]),
    ...experts.map(({ value }) => value),
    ...experts.map(({ difference }) => difference),
  ]);
  const values = emitted.values.slice(emitted.values.length - experts.length);
  const ids = emitted.values.slice(-2 * experts.length, emitted.values.length - experts.length);
  const kind = rows === 'input' ? 'columnMagnitudes' : 'rowMagnitudes';
  const measures: Measure[] =
    experts.length === 0
      ? []
      : [
          // Without the base, there is no NaN or infinity of the base to exclude.
          { kind: 'nonFinite', base: itemAt(emitted.values, 0), experts: ids, differences: values },
          ...(pairs ? [{ kind: 'overlaps', values } as const] : []),
          ...values.map((value) => ({ kind, value }) as const),
        ];
  const firstMagnitudes = pairs ? 2 : 1;
  const places = reduction.experts.map((_, expert) => experts.findIndex(({ index }) => index === expert));
  const [count] = rowsOf(reduction);
  return {
    wanted: { tensor, emitted, measures },
    program,
    isEmpty: experts.length === 0 || program.elements === 0,
    resultOf: (found) => {
      const nonFinite = found[0] ?? new Float64Array(1);
      return {
        nonFinite: [
          base === undefined ? 0 : itemAt(nonFinite, 0),
          ...places.map((place) => (place === -1 ? 0 : itemAt(nonFinite, 1 + place))),
        ],
        magnitudes: places.map((place) =>
          place === -1 ? new Float64Array(count) : itemAt(found, firstMagnitudes + place),
        ),
        pairs: pairs ? pairsOf(places, found[1]) : new Float64Array(),
      };
    },
  };
};

/** Lets NaN and infinity pass: they are counted, and the caller refuses them. */
const leaveAlone = (): void => undefined;

/** Returns the sums of all pairs of experts; 0 for an expert that equals the base. */
const pairsOf = (places: readonly number[], found: Float64Array | undefined): Float64Array => {
  const differing = places.filter((place) => place !== -1).length;
  const sums: number[] = [];
  for (const [i, a] of places.entries())
    for (const b of places.slice(i)) {
      const at = a === -1 || b === -1 ? undefined : 3 * pairIndex(a, b, differing);
      for (const sum of [0, 1, 2])
        sums.push(at === undefined || found === undefined ? 0 : itemAt(found, at + sum));
    }
  return Float64Array.from(sums);
};

/** Yields lazily, so that only tensors in progress hold sums. */
const blocksInOrder = function* (tensors: readonly Reducing[]): Generator<BlockOf> {
  for (const [index, tensor] of tensors.entries()) {
    if (tensor.isEmpty) continue;
    const sums = new BlockSums(tensor.program, tensor.wanted.measures);
    for (const block of blocksOf(tensor.program)) yield { index, tensor, block, sums };
  }
};

/**
 * Sums differences, reading every input byte once. Results do not depend on the number of threads.
 *
 * @param keep reduces a tensor's result: float64 sums of a large model's rows would take gigabytes
 * @param isGlance as in `overInputs`
 * @throws INPUT_CHANGED, INPUT_SHRANK, READ_FAILED, INVALID_PARAMETER, INTERRUPTED
 */
export const runReductions = async <T>(
  plan: ReductionPlan,
  options: ReduceOptions,
  keep: (tensor: ReducedTensor, reduction: PlannedReduction) => T,
  isGlance = false,
): Promise<Reduced<T>> => {
  const kept: T[] = [];
  const sources = plan.tensors.flatMap(sourcesOfReduction);
  const reduce = async (pool: WorkerPool, inputs: InputFiles): Promise<void> => {
    const tensors: Reducing[] = [];
    for (const tensor of plan.tensors)
      tensors.push(
        await reducing(tensor, plan.pairs, new BlockMeasurer(pool, inputs, tensor.name, leaveAlone)),
      );
    const finish = (index: number, found: readonly Float64Array[]): void => {
      kept[index] = keep(itemAt(tensors, index).resultOf(found), itemAt(plan.tensors, index));
    };
    await pool.eachInLanes(blocksInOrder(tensors), async ({ index, tensor, block, sums }) => {
      sums.add(block, (await measureBlock(pool, inputs, tensor.wanted, block)).found);
      if (sums.isWhole) finish(index, sums.found);
    });
    for (const [index, { isEmpty, program, wanted }] of tensors.entries())
      if (isEmpty) finish(index, new BlockSums(program, wanted.measures).found);
  };
  const { cost } = await overInputs(options, 'analysis', plan.inputs, sources, reduce, isGlance);
  const { bytesRead, threads, seconds } = cost;
  return { tensors: kept, bytesRead, threads, seconds };
};
