import { dtypeIndex, type Reduction, rowSenses, type Sums } from '../../native/addon.js';
import { type PlannedReduction, type ReductionPlan, rowsOf } from '../../plan/reduction.js';
import { type ArithmeticDtype, bitsOf } from '../../tensor/dtype.js';
import { bytesOfSources } from '../../tensor/stored-tensor.js';
import type { InputFiles } from '../input-files.js';
import { type Progress, Run, type RunControls } from '../run.js';
import { sourceError } from '../threads/errors.js';
import { emptySums } from './sums.js';

export type ReduceOptions = RunControls;

/** Sums of one tensor. */
export interface ReducedTensor {
  /** Σ |expert − base| of each row, for each expert. */
  readonly magnitudes: readonly Float64Array[];
  /** Of pairs of experts i ≤ j, in order: Σ δᵢδⱼ, elements that both changed, those with one sign. */
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

/** Elements of a block. Part of the numeric contract: sums of a column are taken block by block, and then in their order. */
const blockElements = 4 * 1024 * 1024;

/** Whole rows of a tensor. */
interface Block {
  readonly accumulator: Accumulator;
  readonly index: number;
  readonly first: number;
  readonly count: number;
}

/** Takes a tensor's blocks in whatever order they come, and adds them in theirs. */
class Accumulator {
  readonly tensor: PlannedReduction;
  readonly #sums: Sums;
  readonly #waiting = new Map<number, { block: Block; sums: Sums }>();
  #next = 0;

  constructor(tensor: PlannedReduction, pairs: boolean) {
    this.tensor = tensor;
    this.#sums = emptySums(tensor.sources.length - 1, rowsOf(tensor)[0], pairs);
  }

  add(block: Block, sums: Sums): void {
    this.#waiting.set(block.index, { block, sums });
    for (
      let ready = this.#waiting.get(this.#next);
      ready !== undefined;
      ready = this.#waiting.get(this.#next)
    ) {
      this.#waiting.delete(this.#next);
      this.#next += 1;
      this.#fold(ready.block, ready.sums);
    }
  }

  #fold({ first, count }: Block, { magnitudes, pairs, nonFinite }: Sums): void {
    addTo(this.#sums.pairs, pairs);
    addTo(this.#sums.nonFinite, nonFinite);
    if (this.tensor.rows === 'input') addTo(this.#sums.magnitudes, magnitudes);
    else
      for (let expert = 0; expert < this.tensor.sources.length - 1; expert += 1)
        this.#sums.magnitudes.set(
          magnitudes.subarray(expert * count, (expert + 1) * count),
          expert * this.tensor.shape[0] + first,
        );
  }

  get result(): ReducedTensor {
    const { magnitudes, pairs, nonFinite } = this.#sums;
    const [rows] = rowsOf(this.tensor);
    const experts = this.tensor.sources.length - 1;
    return {
      magnitudes: Array.from({ length: experts }, (_, expert) =>
        magnitudes.subarray(expert * rows, (expert + 1) * rows),
      ),
      pairs,
      nonFinite: [...nonFinite],
    };
  }
}

const addTo = (sums: Float64Array, more: Float64Array): void => {
  for (const [index, value] of more.entries()) sums[index] = (sums[index] ?? 0) + value;
};

function* blocksOf(accumulator: Accumulator): Generator<Block> {
  const [rows, columns] = accumulator.tensor.shape;
  const most = Math.max(1, Math.floor(blockElements / columns));
  for (let first = 0, index = 0; first < rows; first += most, index += 1)
    yield { accumulator, index, first, count: Math.min(most, rows - first) };
}

const reductionOf = ({ accumulator: { tensor }, first, count }: Block, inputs: InputFiles): Reduction => {
  const columns = tensor.shape[1];
  return {
    sources: tensor.sources.map((source) => ({
      fd: inputs.fdOf(source),
      offset: source.begin + (first * columns * bitsOf(source.dtype)) / 8,
      dtype: dtypeIndex(source.dtype as ArithmeticDtype),
    })),
    rows: count,
    columns,
    sense: rowSenses[tensor.rows],
  };
};

/**
 * Carries out reductions: every input byte is read once, on all threads, and the sums do not depend on how many those are.
 *
 * @throws LayerloomError INPUT_CHANGED, INPUT_SHRANK, READ_FAILED, INVALID_PARAMETER, INTERRUPTED
 */
export const runReductions = async (plan: ReductionPlan, options: ReduceOptions): Promise<Reduced> => {
  await using run = new Run(options);
  const { pool } = run;
  const accumulators = plan.tensors.map((tensor) => new Accumulator(tensor, plan.pairs));
  const blocks = accumulators.flatMap((accumulator) => [...blocksOf(accumulator)]);
  const sources = plan.tensors.flatMap((tensor) => tensor.sources);
  const total = bytesOfSources(sources);
  const inputs = await run.open(plan.inputs, sources);
  const progress = (): Progress => ({ phase: 'analysis', done: pool.counters.bytesRead, total });
  try {
    await run.reporting(progress, async () => {
      // One iterator for all lanes: taking blocks off an array's front takes time with the square of their number.
      const waiting = blocks.values();
      await pool.inLanes(async () => {
        for (const block of waiting) {
          if (pool.stopped) return;
          const { tensor } = block.accumulator;
          const result = await pool.reduce(reductionOf(block, inputs), plan.pairs);
          if (!result.ok)
            throw sourceError(
              result.status,
              tensor.name,
              tensor.sources.map((source) => inputs.pathOf(source)),
            );
          block.accumulator.add(block, result.sums);
        }
      });
      await inputs.verify();
    });
  } catch (error) {
    throw run.reasonOf(error, {});
  }
  const { bytesRead, threads, seconds } = run.cost;
  return { tensors: accumulators.map(({ result }) => result), bytesRead, threads, seconds };
};
