import { requireLayers } from '../architecture/architecture.js';
import { LayerloomError } from '../errors.js';
import { checkCompatible } from '../plan/compatible.js';
import { type OpenedCheckpoint, openModels, plannedInput } from '../plan/models.js';
import { quantisedTensors } from '../plan/quantised.js';
import type { PlannedReduction, ReductionPlan } from '../plan/reduction.js';
import { withSharedRows } from '../plan/shared-rows.js';
import { arithmeticDtypes } from '../tensor/dtype.js';
import type { TensorReference } from '../tensor/reference.js';
import type { Rows } from '../tensor/rows.js';
import type { StoredTensor } from '../tensor/stored-tensor.js';

export interface AnalysisPlan {
  readonly reductions: ReductionPlan;
  readonly base: OpenedCheckpoint;
  readonly experts: readonly OpenedCheckpoint[];
  readonly warnings: readonly string[];
}

/**
 * Plans an analysis of every 1-D and 2-D floating tensor that base and experts all have; where vocabularies
 * differ, of the rows that they share. Reads headers, not weights.
 *
 * @throws LayerloomError the codes of `openModels`, `withSharedRows` and `checkCompatible`, QUANTISED_WEIGHTS
 */
export const planAnalysis = async (
  base: string,
  experts: readonly string[],
  rows: Rows,
): Promise<AnalysisPlan> => {
  const {
    models: [first, ...others],
    isDecided: tokensAreDecided,
    warnings: ofVocabulary,
  } = await withSharedRows(
    await openModels([{ role: 'base', model: base }, ...experts.map((model) => ({ role: 'expert', model }))]),
  );
  if (first === undefined) throw new RangeError('openModels gave no base');
  const warnings = [first, ...others].flatMap(({ checkpoint }) => checkpoint.warnings);
  warnings.push(...ofVocabulary);
  for (const expert of others) {
    const { differences } = await checkCompatible(first, expert, { tokensAreDecided });
    warnings.push(...differences.map(({ words }) => words));
  }
  if (first.architecture.stacks.length > 0) requireLayers(first.architecture, first.checkpoint.path);
  refuseQuantised([first, ...others]);

  const tensors: PlannedReduction[] = [];
  const leftOut: string[] = [];
  for (const name of first.checkpoint.tensors.keys()) {
    const references = [first, ...others].map(({ checkpoint }) => checkpoint.tensors.get(name));
    const reduction = reductionOf(name, references, rows);
    if (reduction === 'left out') leftOut.push(name);
    else if (reduction !== undefined) tensors.push(reduction);
  }
  if (leftOut.length > 0)
    warnings.push(
      `${leftOut.length} tensors of three or more dimensions have no rows and are left out (${leftOut[0]}${leftOut.length > 1 ? ', …' : ''})`,
    );
  return {
    reductions: { inputs: [first, ...others].map(plannedInput), tensors, pairs: others.length > 1 },
    base: first,
    experts: others,
    warnings,
  };
};

/**
 * Returns the reduction of one tensor; undefined where it cannot be compared (integers, empty tensors,
 * tensors that some model lacks), 'left out' for three or more dimensions, which have no rows.
 */
const reductionOf = (
  name: string,
  references: readonly (TensorReference | undefined)[],
  rows: Rows,
): PlannedReduction | 'left out' | undefined => {
  const sources: StoredTensor[] = [];
  for (const [input, reference] of references.entries()) {
    if (reference === undefined || !(arithmeticDtypes as readonly string[]).includes(reference.dtype))
      return undefined;
    const { file, begin, end, dtype } = reference;
    sources.push({ input, file, begin, end, dtype });
  }
  const shape = references[0]?.shape;
  if (shape === undefined || shape.length === 0 || shape.includes(0)) return undefined;
  if (shape.length > 2) return 'left out';
  const [a = 1, b] = shape;
  return b === undefined
    ? { name, shape: [1, a], rows: 'output', sources }
    : { name, shape: [a, b], rows, sources };
};

const refuseQuantised = (models: readonly OpenedCheckpoint[]): void => {
  for (const { checkpoint } of models) {
    const [tensor] = quantisedTensors(checkpoint.tensors.keys());
    if (tensor !== undefined)
      throw new LayerloomError('QUANTISED_WEIGHTS', { model: checkpoint.path, tensor });
  }
};
