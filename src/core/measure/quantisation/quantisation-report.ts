import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { itemAt } from '../../base/errors/lookup.js';
import { runKeptChanges } from '../../engine/compute/measures/kept-changes.js';
import { type QuantisedOutput, summarise } from '../../engine/output/record/kept-changes.js';
import type { RunControls, RunCost } from '../../engine/run.js';
import {
  blockOf,
  fits,
  isQuantisable,
  type QuantisingName,
  quantisings,
} from '../../models/quantisation/quantising.js';
import { operandOf } from '../../plan/adapted.js';
import { type OpenedCheckpoint, plannedInput } from '../../plan/compile/inputs/models.js';
import type { ComparedPair } from '../comparison/open-pair.js';

/** How much of the change between two models remains if both are quantised. */
export interface QuantisationReport extends QuantisedOutput, RunCost {
  readonly scheme: QuantisingName;
  /** Size of the blocks that share a scale, in rows and columns; null for whole rows. */
  readonly block: readonly [rows: number, columns: number] | null;
}

/**
 * Measures how much of a change quantisation keeps; writes no model.
 *
 * @throws INVALID_PARAMETER if no matrix would be quantised, the codes of `runKeptChanges`
 */
export const reportQuantisation = async (
  { a, b }: ComparedPair,
  name: QuantisingName,
  wanted: (name: string) => boolean,
  controls: RunControls,
): Promise<QuantisationReport> => {
  const found = matricesOf(a, b).filter((matrix) => wanted(matrix.name));
  const block = blockOf(
    name,
    found.map(({ shape }) => shape),
  );
  const matrices = found.filter(({ shape }) => fits(block, shape));
  if (matrices.length === 0)
    throw invalidParameter(
      'quantize-report',
      name,
      found.length > 0
        ? `models with matrices whose rows and columns are multiples of 32, unlike [${found[0]?.shape.join(', ')}]`
        : `models that have matrices of layers in common; ${a.checkpoint.path} and ${b.checkpoint.path} have none`,
    );
  const { tensors: sums, ...cost } = await runKeptChanges(
    {
      inputs: [plannedInput(a), plannedInput(b)],
      scheme: quantisings[name].scheme,
      block,
      tensors: matrices,
    },
    controls,
  );
  return {
    scheme: name,
    block: block[1] === Number.MAX_SAFE_INTEGER ? null : block,
    ...summarise(matrices.map((matrix, index) => ({ ...matrix, sums: itemAt(sums, index) }))),
    ...cost,
  };
};

const matricesOf = (a: OpenedCheckpoint, b: OpenedCheckpoint) =>
  [...a.checkpoint.tensors].flatMap(([name, inA]) => {
    const inB = b.checkpoint.tensors.get(name);
    const place = a.architecture.places.get(name);
    if (inB === undefined || place?.layer === undefined || inB.shape.join() !== inA.shape.join()) return [];
    if (!isQuantisable(name, inA, place) || !isQuantisable(name, inB, place)) return [];
    const sources = [operandOf(0, inA), operandOf(1, inB)] as const;
    return [{ name, layer: place.layer, shape: inA.shape, sources }];
  });
