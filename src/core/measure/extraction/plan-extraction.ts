import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt, valueAt } from '../../base/errors/lookup.js';
import { isConv1d } from '../../models/adapters/conv1d.js';
import { peftWarnings } from '../../models/architecture/not-loaded.js';
import { isTokenizerFile } from '../../models/checkpoint/side-files.js';
import { type FactorDtype, factorDtypes } from '../../native/solve.js';
import { operandOf } from '../../plan/adapted.js';
import { inSpelling } from '../../plan/compile/in-spelling.js';
import { checkCompatible, warningOf } from '../../plan/compile/inputs/compatible.js';
import { type OpenedCheckpoint, openModels, plannedInput } from '../../plan/compile/inputs/models.js';
import { quantisedTensors } from '../../plan/compile/quantised.js';
import { computedTensor } from '../../plan/operands/computed.js';
import { isStored } from '../../plan/operands.js';
import type { Operand, PlannedInput } from '../../plan/plan.js';
import type { Dtype } from '../../tensor/dtype.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import { adaptableIn } from './adaptable.js';
import { type Choice, chooseTensors, moduleOf } from './choose-tensors.js';
import type { ExtractedTensor } from './extraction.js';
import { resizedIn, withShapesOf } from './other-vocabulary.js';

export interface Wanted {
  readonly rank: number;
  readonly energy: number | undefined;
  readonly dtype: FactorDtype | undefined;
  readonly seed: number;
}

export interface PlannedNorm {
  readonly name: string;
  readonly shape: readonly number[];
  readonly base: Operand;
  readonly expert: Operand;
  readonly change: Operand;
}

export interface PlannedFactors extends PlannedNorm, Pick<ExtractedTensor, 'layer' | 'role'> {
  readonly shape: readonly [number, number];
  /** The requested rank, but at most the matrix's smaller dimension. */
  readonly rank: number;
  readonly dtype: FactorDtype;
  /** True if the parameter is stored as [in, out], so that the change is (B·A)ᵀ. */
  readonly transposed: boolean;
  /** True for embeddings, whose factors have other names. */
  readonly embedding: boolean;
}

export interface SavedTensor {
  readonly name: string;
  readonly dtype: Dtype;
  readonly shape: readonly number[];
  readonly source: StoredTensor;
}

export interface ExtractionPlan {
  readonly wanted: Wanted;
  readonly inputs: readonly PlannedInput[];
  readonly base: OpenedCheckpoint;
  readonly expert: OpenedCheckpoint;
  readonly factors: readonly PlannedFactors[];
  readonly saved: readonly SavedTensor[];
  /** Saved embeddings and heads with another number of rows than the base's. */
  readonly vocabulary: readonly string[];
  /** Tensors saved whole or left out, whose change is only measured. */
  readonly norms: readonly PlannedNorm[];
  readonly warnings: readonly string[];
}

/**
 * Plans an extraction from headers.
 *
 * @throws INVALID_PARAMETER, QUANTISED_WEIGHTS, the codes of `openModels` and `checkCompatible`
 */
export const planExtraction = async (
  models: { readonly base: string; readonly expert: string },
  choice: Choice,
  wanted: Wanted,
): Promise<ExtractionPlan> => {
  const [base, other] = await openModels([
    { role: 'base', model: models.base },
    { role: 'expert', model: models.expert },
  ]);
  if (base === undefined || other === undefined) throw new Error('openModels gave no two models');
  const expert = inSpelling(base, other);
  const warnings = [base, expert].flatMap(({ checkpoint }) => checkpoint.warnings);
  const resized = resizedIn(base, expert);
  const alike = resized.length === 0 ? base : withShapesOf(base, expert, resized);
  const { differences } = await checkCompatible(alike, expert, { tokensAreDecided: resized.length > 0 });
  warnings.push(...differences.map(warningOf));
  if (resized.length > 0) warnings.push(aboutVocabulary(base, expert, resized));
  for (const { checkpoint } of [base, expert]) {
    const [tensor] = quantisedTensors(checkpoint);
    if (tensor !== undefined)
      throw new LayerloomError('QUANTISED_WEIGHTS', { model: checkpoint.path, tensor });
  }
  if (base.checkpoint.adapted !== undefined)
    warnings.push(
      `${base.checkpoint.path} is a base with an adapter, which PEFT cannot load as the base of another: merge it to full weights first, and extract from these`,
    );
  const { tensors, config } = expert.checkpoint;
  warnings.push(...peftWarnings(config));
  const shared = new Map(
    [...tensors].filter(([name]) => base.checkpoint.tensors.has(name) && !resized.includes(name)),
  );
  const chosen = await chooseTensors(
    shared,
    expert.architecture,
    choice,
    adaptableIn(tensors.keys(), config),
  );
  // Returns operands, because in a base with an adapter, tensors are formulas.
  const operandIn = ({ checkpoint }: OpenedCheckpoint, input: number, name: string): Operand =>
    operandOf(input, valueAt(checkpoint.tensors, name));
  const normOf = (name: string): PlannedNorm => {
    const [before, after] = [operandIn(base, 0, name), operandIn(expert, 1, name)];
    const terms = [
      { source: after, weight: 1 },
      { source: before, weight: -1 },
    ];
    const change = computedTensor('F32', { kind: 'linear', terms });
    return { name, shape: valueAt(tensors, name).shape, base: before, expert: after, change };
  };
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
        layer: place?.layer ?? null,
        role,
        ...normOf(name),
        shape: [rows, columns],
        rank: Math.min(wanted.rank, rows, columns),
        dtype: wanted.dtype ?? factorDtypes.find((one) => one === dtype) ?? 'F32',
        transposed: role === 'embedding' || isConv1d(config, name) === true,
        embedding: role === 'embedding',
      };
    }),
    vocabulary: resized,
    saved: [...chosen.saved, ...resized].map((name) => {
      const { dtype, shape } = valueAt(tensors, name);
      const source = operandIn(expert, 1, name);
      if (!isStored(source))
        throw new LayerloomError('INVALID_PARAMETER', {
          parameter: 'saveModules',
          value: moduleOf(name),
          expected: "modules that the expert's own adapter does not change, which are stored as they are",
        });
      return { name, dtype, shape, source };
    }),
    norms: [...chosen.saved, ...chosen.others].map(normOf),
    warnings,
  };
};

const aboutVocabulary = (
  base: OpenedCheckpoint,
  expert: OpenedCheckpoint,
  names: readonly string[],
): string => {
  const rowsOf = ({ checkpoint }: OpenedCheckpoint) => valueAt(checkpoint.tensors, itemAt(names, 0)).shape[0];
  return `${expert.checkpoint.name} has ${rowsOf(expert)} rows of tokens, and ${base.checkpoint.name} ${rowsOf(base)}: ${names.join(' and ')} ${names.length === 1 ? 'is' : 'are'} saved whole${expert.checkpoint.sideFiles.some(isTokenizerFile) ? ', with the tokenizer' : ''}. For PEFT, resize the base first: base.resize_token_embeddings(${rowsOf(expert)})`;
};

const roleOf = (role: string | undefined): ExtractedTensor['role'] =>
  role === 'attention' || role === 'feedForward' || role === 'embedding' || role === 'head' ? role : 'other';
