import type { KeptSums } from '../../../methods/operations/program/lowering.js';
import { Program } from '../../../methods/operations/program/program.js';
import { measureKept } from '../../../methods/operations/quantised/kept-change.js';
import type { QuantisingScheme } from '../../../native/job.js';
import { lowerOperand, sourcesOfOperand } from '../../../plan/operands.js';
import type { PlannedInput } from '../../../plan/plan.js';
import type { PlannedComparison } from '../../../plan/reports/comparison.js';
import { overInputs, type RunControls, type RunCost } from '../../run.js';
import { BlockMeasurer, type OnNonFinite } from './measure.js';
import { refusedNonFinite } from './non-finite.js';

/** Pairs of tensors whose change from the base (source 0) is to be quantised. */
export interface KeptChangesPlan {
  readonly inputs: readonly PlannedInput[];
  readonly scheme: QuantisingScheme;
  readonly block: readonly [rows: number, columns: number];
  readonly tensors: readonly Pick<PlannedComparison, 'name' | 'shape' | 'sources'>[];
}

export interface KeptChanges extends RunCost {
  readonly tensors: readonly KeptSums[];
}

/** Refuses NaN and infinity, which quantisation schemes cannot encode. */
const refuse: OnNonFinite = (value) => {
  throw refusedNonFinite(value, 'mend the checkpoint, or leave the tensor out of what is compared');
};

/**
 * Quantises both models and measures how much of the change survives.
 *
 * @throws NON_FINITE, INPUT_CHANGED, INPUT_SHRANK, READ_FAILED, INVALID_PARAMETER, INTERRUPTED
 */
export const runKeptChanges = async (
  { inputs: models, scheme, block, tensors }: KeptChangesPlan,
  controls: RunControls,
): Promise<KeptChanges> => {
  const sources = tensors.flatMap((tensor) => tensor.sources.flatMap(sourcesOfOperand));
  const found: KeptSums[] = [];
  const { cost } = await overInputs(controls, 'comparison', models, sources, (pool, inputs) =>
    pool.eachInLanes(tensors.entries(), async ([index, { name, shape, sources }]) => {
      const [rows = 1, columns = 1] = shape;
      const program = new Program(shape, inputs.idOf);
      const to = { tensor: name, program, measurer: new BlockMeasurer(pool, inputs, name, refuse) };
      const base = await lowerOperand(sources[0], to);
      const value = await lowerOperand(sources[1], to);
      found[index] = await measureKept(value, base, { scheme, shape: [rows, columns], block }, to);
    }),
  );
  return { tensors: found, ...cost };
};
