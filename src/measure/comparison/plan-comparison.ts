import { LayerloomError } from '../../base/errors.js';
import { type OpenedCheckpoint, openModels, plannedInput } from '../../compile/models.js';
import { operandOf } from '../../plan/adapted.js';
import type { ComparisonPlan, PlannedComparison } from '../../plan/comparison.js';
import type { Operand } from '../../plan/plan.js';
import { bitsOf, isFloating } from '../../tensor/dtype.js';
import { elementsOf, type TensorReference } from '../../tensor/reference.js';
import type { StoredAs, TensorComparison, TensorState } from './comparison.js';

/** A tensor of either model, before its elements are compared. */
export type FoundTensor = Pick<TensorComparison, 'name' | 'layer' | 'module' | 'a' | 'b' | 'elements'> & {
  /** The index of its comparison in the plan, or the state that headers alone tell. */
  readonly comparison: number | Exclude<TensorState, 'equal' | 'sameValues' | 'differs'>;
};

export interface PlannedDiff {
  readonly a: OpenedCheckpoint;
  readonly b: OpenedCheckpoint;
  readonly comparisons: ComparisonPlan;
  readonly tensors: readonly FoundTensor[];
}

/**
 * Plans the comparison of two checkpoints. Reads headers, not weights.
 *
 * @param wanted says by its name if a tensor is compared
 * @throws LayerloomError NAMING_MISMATCH, INVALID_PARAMETER where no tensor is wanted, the codes of `openCheckpoint`
 */
export const planComparison = async (
  modelA: string,
  modelB: string,
  wanted: (name: string) => boolean,
): Promise<PlannedDiff> => {
  const [a, b] = await openModels([
    { role: 'a', model: modelA },
    { role: 'b', model: modelB },
  ]);
  if (a === undefined || b === undefined) throw new RangeError('openModels gave no two models');
  checkNaming(a, b);
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
  return { a, b, tensors, comparisons: { inputs: [plannedInput(a), plannedInput(b)], tensors: planned } };
};

const checkNaming = (a: OpenedCheckpoint, b: OpenedCheckpoint): void => {
  const spelt = { huggingface: 'Hugging Face', meta: 'Meta' };
  if (a.architecture.naming !== b.architecture.naming)
    throw new LayerloomError('NAMING_MISMATCH', {
      first: a.checkpoint.path,
      other: b.checkpoint.path,
      firstNaming: spelt[a.architecture.naming],
      otherNaming: spelt[b.architecture.naming],
    });
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
  // Elements of less than a byte are compared as the bytes that they fill.
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
