import { LayerloomError } from '../../base/errors/errors.js';
import { itemAt } from '../../base/errors/lookup.js';
import { changeIn } from '../../models/adapters/kinds/kinds.js';
import { describeArchitecture, requireLayers } from '../../models/architecture/architecture.js';
import { readGivenConfig } from '../../models/reading/given-config.js';
import { TokenizerReader } from '../../models/tokenizer/files/read-tokenizer.js';
import { additionOf, operandOf } from '../../plan/adapted.js';
import { onBase } from '../../plan/compile/adapters/named-base.js';
import { inSpelling } from '../../plan/compile/in-spelling.js';
import { checkCompatible } from '../../plan/compile/inputs/compatible.js';
import { type OpenedCheckpoint, openModels, plannedInput } from '../../plan/compile/inputs/models.js';
import { quantisedTensors } from '../../plan/compile/quantised.js';
import { withSharedRows } from '../../plan/compile/vocabularies/shared-rows.js';
import type { PlannedDifference, PlannedReduction, ReductionPlan } from '../../plan/reports/reduction.js';
import { arithmeticDtypes } from '../../tensor/dtype.js';
import type { TensorReference } from '../../tensor/reference.js';
import type { Rows } from '../../tensor/rows.js';

export interface AnalysisPlan {
  readonly reductions: ReductionPlan;
  readonly base: OpenedCheckpoint;
  readonly experts: readonly OpenedCheckpoint[];
  readonly warnings: readonly string[];
}

/**
 * Opens the base and the experts. A bare adapter is opened on the base.
 *
 * @throws as `openModels`
 */
export const openBaseAndExperts = async (
  base: string,
  experts: readonly string[],
  config?: string,
): Promise<OpenedCheckpoint[]> => {
  const whole = await Promise.all(experts.map((expert) => onBase(expert, base)));
  const [first, ...others] = await openModels(
    [{ role: 'base', model: base }, ...whole.map((model) => ({ role: 'expert', model }))],
    await readGivenConfig(config),
  );
  if (first === undefined) throw new RangeError('openModels gave no base');
  return [first, ...others.map((other) => inSpelling(first, other))];
};

export interface InLayers {
  /** The stack of layers to use: `encoder`, `decoder`, or a name prefix; default: the only one. */
  stack?: string | undefined;
  /** True if results are by layer; models with several stacks then need `stack`. Default false. */
  inLayers?: boolean | undefined;
  /** A directory with `config.json` and tokenizer, or that file, for models without them. */
  config?: string | undefined;
}

/**
 * Plans to read all 1-D and 2-D floating-point tensors that every model has. If vocabularies differ,
 * embeddings are cut to common rows. Reads only headers.
 *
 * @throws as `openBaseAndExperts`, `withSharedRows` and `checkCompatible`, QUANTISED_WEIGHTS
 */
export const planAnalysis = async (
  base: string,
  experts: readonly string[],
  rows: Rows,
  { stack, inLayers = false, config }: InLayers = {},
): Promise<AnalysisPlan> => {
  const tokenizers = new TokenizerReader();
  const {
    models,
    isDecided: tokensAreDecided,
    warnings: ofVocabulary,
  } = await withSharedRows(await openBaseAndExperts(base, experts, config), tokenizers);
  const [first, ...others] = models.map((model) =>
    stack === undefined ? model : { ...model, architecture: describeArchitecture(model.checkpoint, stack) },
  );
  if (first === undefined) throw new RangeError('openModels gave no base');
  const warnings = [first, ...others].flatMap(({ checkpoint }) => checkpoint.warnings);
  warnings.push(...ofVocabulary);
  for (const expert of others) {
    const { differences } = await checkCompatible(first, expert, { tokensAreDecided }, tokenizers);
    warnings.push(...differences.map(({ words }) => words));
  }
  const { stacks } = first.architecture;
  if (stacks.length === 1 || (inLayers && stacks.length > 1))
    requireLayers(first.architecture, first.checkpoint.path);
  refuseQuantised([first, ...others]);

  const tensors: PlannedReduction[] = [];
  const leftOut: string[] = [];
  for (const name of first.checkpoint.tensors.keys()) {
    const reduction = reductionOf(name, [first, ...others], rows);
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

/** Plans a tensor's reduction. Undefined if a model lacks it; `left out` if it is 3-D. */
const reductionOf = (
  name: string,
  models: readonly OpenedCheckpoint[],
  rows: Rows,
): PlannedReduction | 'left out' | undefined => {
  const found: ModelTensor[] = [];
  for (const [input, { checkpoint }] of models.entries()) {
    const reference = checkpoint.tensors.get(name);
    if (reference === undefined || !(arithmeticDtypes as readonly string[]).includes(reference.dtype))
      return undefined;
    found.push({ input, reference, path: itemAt(checkpoint.files, reference.file).path });
  }
  const [base, ...others] = found;
  if (base === undefined) throw new RangeError('there is no base');
  const { shape } = base.reference;
  if (shape.length === 0 || shape.includes(0)) return undefined;
  if (shape.length > 2) return 'left out';
  const experts = others.map((expert) => differenceOf(expert, base));
  const reads = experts.some(({ kind }) => kind === 'tensor');
  const [a = 1, b] = shape;
  return {
    ...(b === undefined ? { name, shape: [1, a], rows: 'output' } : { name, shape: [a, b], rows }),
    base: reads ? operandOf(base.input, base.reference) : null,
    experts,
  };
};

interface ModelTensor {
  readonly input: number;
  readonly reference: TensorReference;
  readonly path: string;
}

/** Plans the difference from the base, without reading bytes that equal the base's. */
const differenceOf = ({ input, reference, path }: ModelTensor, base: ModelTensor): PlannedDifference => {
  const isOfBase =
    base.reference.change === undefined &&
    path === base.path &&
    reference.begin === base.reference.begin &&
    reference.end === base.reference.end;
  const change = changeIn(reference);
  if (!isOfBase) return { kind: 'tensor', tensor: operandOf(input, reference) };
  if (change === undefined) return { kind: 'none' };
  const addition = additionOf(input, change);
  return addition === undefined
    ? { kind: 'tensor', tensor: operandOf(input, reference) }
    : { kind: 'change', ...addition };
};

const refuseQuantised = (models: readonly OpenedCheckpoint[]): void => {
  for (const { checkpoint } of models) {
    const [tensor] = quantisedTensors(checkpoint);
    if (tensor !== undefined)
      throw new LayerloomError('QUANTISED_WEIGHTS', { model: checkpoint.path, tensor });
  }
};
