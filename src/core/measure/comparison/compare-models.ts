import { itemAt } from '../../base/errors/lookup.js';
import { type ComparedTensor, runComparisons } from '../../engine/compute/measures/compare.js';
import type { RunControls } from '../../engine/run.js';
import type { OpenedCheckpoint } from '../../plan/compile/inputs/models.js';
import { bitsOf, isFloating } from '../../tensor/dtype.js';
import { elementsOf, type Shape, storedBytes } from '../../tensor/reference.js';
import type { ComparedModel, Comparison, ElementDifferences, TensorComparison } from './comparison.js';
import type { ComparedPair } from './open-pair.js';
import { type FoundTensor, planComparison } from './plan-comparison.js';
import { compareSideFiles } from './side-file-differences.js';

/**
 * Compares two models, reading every byte at most once.
 *
 * @param wanted true for names of tensors to compare
 * @throws as `runComparisons` and `compareSideFiles`
 */
export const compareModels = async (
  pair: ComparedPair,
  wanted: (name: string) => boolean,
  controls: RunControls,
  weightsOnly = false,
): Promise<Comparison> => {
  const { a, b } = pair;
  const { comparisons, tensors: found } = planComparison(pair, wanted);
  const sideFiles = weightsOnly ? [] : await compareSideFiles(a.checkpoint, b.checkpoint);
  const { tensors: compared, bytesRead, threads, seconds } = await runComparisons(comparisons, controls);
  const tensors = found.map((tensor) => comparisonOf(tensor, compared));
  return {
    a: modelOf(a),
    b: modelOf(b),
    equal: tensors.every(({ state }) => state === 'equal'),
    sameValues: tensors.every(({ state }) => state === 'equal' || state === 'sameValues'),
    tensors,
    sideFiles,
    bytesRead,
    threads,
    seconds,
    warnings: [...new Set([...a.checkpoint.warnings, ...b.checkpoint.warnings])],
  };
};

const modelOf = ({ checkpoint, architecture }: OpenedCheckpoint): ComparedModel => {
  const tensors = [...checkpoint.tensors.values()];
  return {
    name: checkpoint.name,
    path: checkpoint.path,
    family: architecture.family,
    layers: architecture.layers,
    tensors: tensors.length,
    parameters: tensors.reduce((total, { shape }) => total + elementsOf(shape), 0),
    bytes: tensors.reduce((total, tensor) => total + storedBytes(tensor), 0),
  };
};

const comparisonOf = (
  { comparison, ...tensor }: FoundTensor,
  compared: readonly ComparedTensor[],
): TensorComparison => {
  if (typeof comparison === 'string') return { ...tensor, state: comparison, difference: null };
  const { a, b, elements } = tensor;
  if (a === null || b === null) throw new RangeError(`${tensor.name} is not in both models`);
  const numbers = itemAt(compared, comparison);
  const { isOneDtype } = numbers;
  if (isOneDtype && numbers.otherBits === 0) return { ...tensor, state: 'equal', difference: null };
  const isNumeric = isFloating(a.dtype);
  const state = isNumeric && numbers.unequal === 0 ? 'sameValues' : 'differs';
  if (numbers.first === 0) return { ...tensor, state, difference: null };
  const bits = bitsOf(a.dtype);
  const counted = bits % 8 === 0;
  const finite = elements - numbers.nonFinite;
  const ofFinite = (number: number): number | null => (isNumeric && finite > 0 ? number : null);
  const norm = Math.sqrt(numbers.squaresOfFirst);
  const difference: ElementDifferences = {
    differing: counted ? (isNumeric ? numbers.unequal : numbers.otherBits) : null,
    differingBits: counted && isOneDtype ? numbers.otherBits : null,
    nonFinite: numbers.nonFinite,
    max: ofFinite(numbers.largest),
    mean: ofFinite(numbers.absolute / finite),
    rms: ofFinite(Math.sqrt(numbers.squares / finite)),
    relative: isNumeric && norm > 0 && Number.isFinite(norm) ? Math.sqrt(numbers.squares) / norm : null,
    first: firstOf(counted ? numbers.first - 1 : Math.floor(((numbers.first - 1) * 8) / bits), a.shape),
  };
  return { ...tensor, state, difference };
};

const firstOf = (index: number, shape: Shape): ElementDifferences['first'] => {
  let left = index;
  const position = shape.toReversed().map((extent) => {
    const at = left % extent;
    left = Math.floor(left / extent);
    return at;
  });
  return { index, position: position.reverse() };
};
