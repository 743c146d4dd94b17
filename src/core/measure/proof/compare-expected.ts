import { itemAt } from '../../base/errors/lookup.js';
import { type ComparedTensor, runComparisons } from '../../engine/compute/measures/compare.js';
import type { RunControls, RunCost } from '../../engine/run.js';
import { operandOf } from '../../plan/adapted.js';
import type { PlannedInput } from '../../plan/plan.js';
import type { PlannedComparison } from '../../plan/reports/comparison.js';
import { bitsOf, isFloating } from '../../tensor/dtype.js';
import { elementsOf } from '../../tensor/reference.js';
import type { Pair } from './pairs.js';
import type { ProvenTensor } from './proof.js';
import type { Draw } from './sample/draw.js';
import { type PlannedSample, type ProofSample, planSample } from './sample/plan-sample.js';

/** With `draw`, only drawn tiles are compared. */
export interface SampleControls {
  readonly draw?: Draw | undefined;
  /** Called before weights are read or fetched. */
  readonly onSample?: ((sample: ProofSample) => void) | undefined;
}

export interface ComparedExpected {
  readonly tensors: readonly ProvenTensor[];
  readonly cost: RunCost;
  readonly sampled: PlannedSample | undefined;
}

/**
 * Computes expected tensors block by block and compares them with the output's. Reads every input byte once
 * and writes nothing.
 *
 * @param inputs the plan's, then the output
 * @returns comparisons in the order of pairs; a tensor that differs only by roundings is `different`
 */
export const compareExpected = async (
  pairs: readonly Pair[],
  inputs: readonly PlannedInput[],
  layerOf: (name: string) => number | null,
  controls: RunControls & SampleControls,
): Promise<ComparedExpected> => {
  const planned: PlannedComparison[] = [];
  const found = pairs.map((pair) => {
    const comparison = comparisonOf(pair, inputs.length - 1);
    return typeof comparison === 'string' ? comparison : planned.push(comparison) - 1;
  });
  const sampled = controls.draw && (await planSample(planned, inputs, controls.draw));
  if (sampled !== undefined) controls.onSample?.(sampled.sample);
  const compares = sampled?.tensors ?? planned;
  const { tensors: compared, ...cost } = await runComparisons({ inputs, tensors: compares }, controls);
  const tensors = pairs.map(({ name, expected, found: own }, index): ProvenTensor => {
    const at = itemAt(found, index);
    const facts = {
      name,
      layer: expected?.layer ?? layerOf(name),
      dtype: own?.dtype ?? null,
      expectedDtype: expected?.dtype ?? null,
      elements: elementsOf((expected ?? own)?.shape ?? []),
    };
    if (typeof at !== 'string')
      return { ...facts, ...differenceOf(itemAt(compared, at), itemAt(planned, at)) };
    const state = own === undefined ? 'missing' : expected === undefined ? 'additional' : 'different';
    return {
      ...facts,
      state,
      differing: null,
      max: null,
      relative: null,
      ...(state === 'different' ? { reason: at } : {}),
    };
  });
  return { tensors, cost, sampled };
};

const comparisonOf = ({ name, expected, found }: Pair, out: number): PlannedComparison | string => {
  if (expected === undefined || found === undefined) return 'is not in both';
  const { dtype, shape, operand } = expected;
  if (shape.join() !== found.shape.join())
    return `is [${found.shape.join(', ')}] instead of [${shape.join(', ')}]`;
  const numbers = isFloating(dtype) && isFloating(found.dtype);
  if (dtype !== found.dtype && !numbers) return `is ${found.dtype} instead of ${dtype}`;
  if (bitsOf(found.dtype) % 8 !== 0) return `is ${found.dtype}, whose elements are not compared`;
  return { name, elements: elementsOf(shape), shape, sources: [operand, operandOf(out, found)], numbers };
};

const differenceOf = (
  { otherBits, unequal, largest, squares, squaresOfFirst, nonFinite }: ComparedTensor,
  { numbers }: PlannedComparison,
): Pick<ProvenTensor, 'state' | 'differing' | 'max' | 'relative' | 'reason'> => {
  const isEqual = numbers ? unequal === 0 : otherBits === 0;
  if (isEqual) return { state: 'equal', differing: 0, max: null, relative: null };
  if (!numbers)
    return {
      state: 'different',
      differing: null,
      max: null,
      relative: null,
      reason: 'differs, and has no numbers',
    };
  const norm = Math.sqrt(squaresOfFirst);
  return {
    state: 'different',
    differing: unequal,
    max: largest,
    relative: norm > 0 && Number.isFinite(norm) ? Math.sqrt(squares) / norm : null,
    ...(nonFinite > 0 ? { reason: `has ${nonFinite} elements that are NaN or infinite on one side` } : {}),
  };
};
