import { operandOf } from '../../plan/adapted.js';
import { type OpenedCheckpoint, plannedInput } from '../../plan/compile/inputs/models.js';
import type { Operand } from '../../plan/plan.js';
import type { ComparisonPlan, PlannedComparison } from '../../plan/reports/comparison.js';
import { bitsOf, isFloating } from '../../tensor/dtype.js';
import { elementsOf, type TensorReference } from '../../tensor/reference.js';
import type { StoredAs, TensorComparison, TensorState } from './comparison.js';
import type { ComparedPair } from './open-pair.js';

export type FoundTensor = Pick<TensorComparison, 'name' | 'layer' | 'module' | 'a' | 'b' | 'elements'> & {
  /** Index of the comparison, or the state if headers decide it. */
  readonly comparison: number | Exclude<TensorState, 'equal' | 'sameValues' | 'differs'>;
};

export interface PlannedDiff {
  readonly comparisons: ComparisonPlan;
  readonly tensors: readonly FoundTensor[];
}

export const planComparison = ({ a, b }: ComparedPair, wanted: (name: string) => boolean): PlannedDiff => {
  const tensors: FoundTensor[] = [];
  const planned: PlannedComparison[] = [];
  for (const name of new Set([...a.checkpoint.tensors.keys(), ...b.checkpoint.tensors.keys()])) {
    if (!wanted(name)) continue;
    const [inA, inB] = [a.checkpoint.tensors.get(name), b.checkpoint.tensors.get(name)];
    const comparison = comparisonOf(name, inA, inB);
    const place = a.architecture.places.get(name) ?? b.architecture.places.get(name);
    tensors.push({
      name,
      layer: place?.layer ?? null,
      module: place?.module ?? name,
      a: storedAs(a, inA),
      b: storedAs(b, inB),
      elements: elementsOf((inA ?? inB)?.shape ?? []),
      comparison: typeof comparison === 'string' ? comparison : planned.push(comparison) - 1,
    });
  }
  return { tensors, comparisons: { inputs: [plannedInput(a), plannedInput(b)], tensors: planned } };
};

const comparisonOf = (
  name: string,
  a: TensorReference | undefined,
  b: TensorReference | undefined,
): PlannedComparison | Exclude<TensorState, 'equal' | 'sameValues' | 'differs'> => {
  if (b === undefined) return 'onlyInA';
  if (a === undefined) return 'onlyInB';
  if (a.shape.join() !== b.shape.join()) return 'otherShape';
  const numbers = isFloating(a.dtype) && isFloating(b.dtype);
  if (a.dtype !== b.dtype && !numbers) return 'otherDtype';
  // Compares elements smaller than a byte as bytes.
  const isWhole = bitsOf(a.dtype) % 8 === 0;
  const source = (input: number, reference: TensorReference): Operand =>
    operandOf(input, isWhole ? reference : { ...reference, dtype: 'U8' });
  return {
    name,
    elements: isWhole ? elementsOf(a.shape) : a.end - a.begin,
    shape: isWhole ? a.shape : [a.end - a.begin],
    sources: [source(0, a), source(1, b)],
    numbers,
  };
};

const storedAs = ({ checkpoint }: OpenedCheckpoint, tensor: TensorReference | undefined): StoredAs | null => {
  if (tensor === undefined) return null;
  const { dtype, shape, file } = tensor;
  return { dtype, shape, file: checkpoint.files[file]?.path ?? checkpoint.path };
};
