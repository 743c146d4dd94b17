import { itemAt } from '../../lookup.js';
import type { Measure } from '../../native/measure.js';
import { Program } from '../../operations/program.js';
import type { PlannedReduction, ReductionPlan } from '../../plan/reduction.js';
import { bytesOfSources } from '../../tensor/stored-tensor.js';
import { type Progress, Run, type RunControls } from '../run.js';
import { type Block, BlockSums, blocksOf, measureBlock, type TensorMeasures } from './blocks.js';

export type ReduceOptions = RunControls;

/** Sums of one tensor. */
export interface ReducedTensor {
  /** Σ |expert − base| of each row, for each expert. */
  readonly magnitudes: readonly Float64Array[];
  /** For each pair of experts i ≤ j, in order: Σ δᵢδⱼ, elements that both changed, those with one sign. */
  readonly pairs: Float64Array;
  /** Elements that are no finite numbers: of the base, then of each expert. */
  readonly nonFinite: readonly number[];
}

export interface Reduced {
  /** As in the plan. */
  readonly tensors: readonly ReducedTensor[];
  readonly bytesRead: number;
  readonly threads: number;
  readonly seconds: number;
}

/** A tensor at work. */
interface Reducing {
  readonly wanted: TensorMeasures;
  readonly blocks: readonly Block[];
  readonly sums: BlockSums;
  readonly result: () => ReducedTensor;
}

const reducing = ({ name, shape, rows, sources }: PlannedReduction, pairs: boolean): Reducing => {
  const program = new Program(shape);
  const [base, ...experts] = sources.map((source) => program.source(source));
  if (base === undefined) throw new Error(`${name} has no base`);
  const differences = experts.map((expert) => program.linear([expert, base], [1, -1]));
  const emitted = program.emit([base, ...experts, ...differences]);
  const ids = emitted.values.slice(1, 1 + experts.length);
  const values = emitted.values.slice(1 + experts.length);
  const kind = rows === 'input' ? 'columnMagnitudes' : 'rowMagnitudes';
  const measures: Measure[] = [
    { kind: 'nonFinite', base: itemAt(emitted.values, 0), experts: ids, differences: values },
    ...values.map((value) => ({ kind, value }) as const),
    ...(pairs ? [{ kind: 'overlaps', values } as const] : []),
  ];
  const sums = new BlockSums(program, measures);
  return {
    wanted: { tensor: name, emitted, measures },
    blocks: blocksOf(program),
    sums,
    result: () => ({
      nonFinite: [...itemAt(sums.found, 0)],
      magnitudes: sums.found.slice(1, 1 + experts.length),
      pairs: pairs ? itemAt(sums.found, 1 + experts.length) : new Float64Array(),
    }),
  };
};

/**
 * Carries out reductions: every input byte is read once, on all threads, and the sums do not depend on how
 * many those are.
 *
 * @throws LayerloomError INPUT_CHANGED, INPUT_SHRANK, READ_FAILED, INVALID_PARAMETER, INTERRUPTED
 */
export const runReductions = async (plan: ReductionPlan, options: ReduceOptions): Promise<Reduced> => {
  await using run = new Run(options);
  const { pool } = run;
  const tensors = plan.tensors.map((tensor) => reducing(tensor, plan.pairs));
  const sources = plan.tensors.flatMap((tensor) => tensor.sources);
  const total = bytesOfSources(sources);
  const inputs = await run.open(plan.inputs, sources);
  const progress = (): Progress => ({ phase: 'analysis', done: pool.counters.bytesRead, total });
  try {
    await run.reporting(progress, async () => {
      // One iterator for all lanes: taking blocks off an array's front takes time with the square of their
      // number.
      const waiting = tensors.flatMap((tensor) => tensor.blocks.map((block) => ({ tensor, block }))).values();
      await pool.inLanes(async () => {
        for (const { tensor, block } of waiting) {
          if (pool.stopped) return;
          tensor.sums.add(block, await measureBlock(pool, inputs, tensor.wanted, block));
        }
      });
      await inputs.verify();
    });
  } catch (error) {
    throw run.reasonOf(error, {});
  }
  const { bytesRead, threads, seconds } = run.cost;
  return { tensors: tensors.map(({ result }) => result()), bytesRead, threads, seconds };
};
