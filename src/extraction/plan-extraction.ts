import { LayerloomError } from '../errors.js';
import { valueAt } from '../lookup.js';
import { type FactorDtype, factorDtypes } from '../native/factorise.js';
import { checkCompatible, warningOf } from '../plan/compatible.js';
import { type OpenedCheckpoint, openModels, plannedInput } from '../plan/models.js';
import type { Operand, PlannedInput } from '../plan/plan.js';
import { quantisedTensors } from '../plan/quantised.js';
import type { Dtype } from '../tensor/dtype.js';
import type { StoredTensor } from '../tensor/stored-tensor.js';
import { type Choice, chooseTensors } from './choose-tensors.js';
import type { ExtractedTensor } from './extraction.js';

/** Which factors to make of each weight. */
export interface Wanted {
  readonly rank: number;
  readonly energy: number | undefined;
  readonly dtype: FactorDtype | undefined;
  readonly seed: number;
}

/** A weight to factorise. */
export interface PlannedFactors extends Pick<ExtractedTensor, 'name' | 'layer' | 'role' | 'shape'> {
  /** Δ */
  readonly change: Operand;
  /** At most so much: the rank asked for, or the smaller extent. */
  readonly rank: number;
  readonly dtype: FactorDtype;
  /** The parameter is stored as [in, out]: the change is (B · A)ᵀ. */
  readonly transposed: boolean;
  /** An embedding: its factors have names of their own. */
  readonly embedding: boolean;
}

/** A tensor of which only the change's size is measured. */
export interface PlannedNorm {
  readonly name: string;
  readonly shape: readonly number[];
  readonly change: Operand;
}

export interface SavedTensor {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly source: StoredTensor;
}

/** An extraction, decided from headers. */
export interface ExtractionPlan {
  readonly wanted: Wanted;
  readonly inputs: readonly PlannedInput[];
  readonly base: OpenedCheckpoint;
  readonly expert: OpenedCheckpoint;
  readonly factors: readonly PlannedFactors[];
  readonly saved: readonly SavedTensor[];
  /** Saved and left-out tensors. */
  readonly norms: readonly PlannedNorm[];
  readonly warnings: readonly string[];
}

/**
 * Plans an extraction: reads headers, and no weights.
 *
 * @throws LayerloomError INVALID_PARAMETER, QUANTISED_WEIGHTS, the codes of `openModels` and `checkCompatible`
 */
export const planExtraction = async (
  models: { readonly base: string; readonly expert: string },
  choice: Choice,
  wanted: Wanted,
): Promise<ExtractionPlan> => {
  const [base, expert] = await openModels([
    { role: 'base', model: models.base },
    { role: 'expert', model: models.expert },
  ]);
  if (base === undefined || expert === undefined) throw new Error('openModels gave no two models');
  const warnings = [base, expert].flatMap(({ checkpoint }) => checkpoint.warnings);
  const { differences } = await checkCompatible(base, expert);
  warnings.push(...differences.map(warningOf));
  for (const { checkpoint } of [base, expert]) {
    const [tensor] = quantisedTensors(checkpoint.tensors.keys());
    if (tensor !== undefined)
      throw new LayerloomError('QUANTISED_WEIGHTS', { model: checkpoint.path, tensor });
  }
  const { tensors } = expert.checkpoint;
  const shared = new Map([...tensors].filter(([name]) => base.checkpoint.tensors.has(name)));
  const chosen = chooseTensors(shared, expert.architecture, choice);
  const storedIn = ({ checkpoint }: OpenedCheckpoint, input: number, name: string): StoredTensor => {
    const { file, begin, end, dtype } = valueAt(checkpoint.tensors, name);
    return { input, file, begin, end, dtype };
  };
  const changeOf = (name: string): Operand => ({
    dtype: 'F32',
    expression: {
      kind: 'linear',
      terms: [
        { source: storedIn(expert, 1, name), weight: 1 },
        { source: storedIn(base, 0, name), weight: -1 },
      ],
    },
  });
  return {
    wanted,
    inputs: [base, expert].map(plannedInput),
    base,
    expert,
    factors: chosen.factorised.map((name) => {
      const { shape, dtype } = valueAt(tensors, name);
      const [rows = 0, columns = 0] = shape;
      const place = expert.architecture.places.get(name);
      const role = roleOf(place?.role);
      return {
        name,
        layer: place?.layer ?? null,
        role,
        shape: [rows, columns],
        change: changeOf(name),
        rank: Math.min(wanted.rank, rows, columns),
        dtype: wanted.dtype ?? factorDtypes.find((one) => one === dtype) ?? 'F32',
        transposed: role === 'embedding',
        embedding: role === 'embedding',
      };
    }),
    saved: chosen.saved.map((name) => {
      const { dtype, shape } = valueAt(tensors, name);
      return { name, dtype, shape, source: storedIn(expert, 1, name) };
    }),
    norms: [...chosen.saved, ...chosen.others].map((name) => ({
      name,
      shape: valueAt(tensors, name).shape,
      change: changeOf(name),
    })),
    warnings,
  };
};

const roleOf = (role: string | undefined): ExtractedTensor['role'] =>
  role === 'attention' || role === 'feedForward' || role === 'embedding' || role === 'head' ? role : 'other';
