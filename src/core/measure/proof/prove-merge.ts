import { LayerloomError } from '../../base/errors/errors.js';
import { invalidParameter } from '../../base/errors/invalid-parameter.js';
import { ValueReader } from '../../engine/compute/measures/read-values.js';
import { overInputs, type RunControls } from '../../engine/run.js';
import { nameWithCommit } from '../../models/address/found-model.js';
import { operandOf } from '../../plan/adapted.js';
import {
  type OpenedCheckpoint,
  openEach,
  openModelOrAdapter,
  plannedInput,
} from '../../plan/compile/inputs/models.js';
import type { CompleteRecipe } from '../../plan/complete-recipe.js';
import { sourcesOfOperand } from '../../plan/operands.js';
import type { MergePlan } from '../../plan/plan.js';
import { arithmeticOf, type Dtype, torchName } from '../../tensor/dtype.js';
import { compareExpected, type SampleControls } from './compare-expected.js';
import { configDifferences } from './config-differences.js';
import { drawnFaults, isAsDrawn } from './drawn.js';
import { type DriftOptions, driftsIn, errorOfWeights } from './drift.js';
import { Evidence, type Sampled } from './evidence.js';
import { type ExpectedTensor, expectedOf } from './expected.js';
import { explain } from './explain.js';
import { pairsOf } from './pairs.js';
import { isOfDtype, isShortDtype } from './precision.js';
import type { Fault, MergeProof, ProofVerdict, ProvenTensor } from './proof.js';
import { byNorms, type Rounding, roundingOf } from './rounding.js';
import { roundingFaults } from './rounding-faults.js';
import { SampledBytes } from './sample/sampled-bytes.js';
import { sourcesInTiles } from './sample/sources-in-tiles.js';
import { sourcesOfInputs } from './sources.js';
import { inTokenOrder } from './token-order.js';
import { withInputs } from './with-inputs.js';

export interface ProofParts {
  /** The output: a path or `org/name`. */
  readonly out: string;
  /** The claim about the output, as the user gave it. */
  readonly against: string;
  readonly plan: MergePlan;
  /** The recipe, with absolute paths. */
  readonly recipe: CompleteRecipe;
  readonly planAgain: (recipe: CompleteRecipe) => Promise<MergePlan>;
}

/**
 * Compares each tensor of an output with a plan's, and names the kinds of differences. Reads inputs and
 * output once. If something differs, also reads samples of the wrong tensors and of the inputs.
 *
 * @throws as `openModelOrAdapter` and `runComparisons`
 */
export const proveMerge = async (
  { out: given, against, plan, recipe, planAgain }: ProofParts,
  controls: RunControls & SampleControls,
): Promise<MergeProof> => {
  const opened = await openInputs(plan);
  const [first] = opened.inputs;
  const [opening] = await openEach([{ role: 'out', model: given }], openModelOrAdapter);
  if (first === undefined || opening === undefined) throw new RangeError('a plan has no inputs');
  const out = await inTokenOrder(opening, plan);
  const expected = expectedOf(plan);
  if (expected.solved.length > 0)
    throw invalidParameter(
      'against',
      against,
      `a recipe that needs no solver: ${plan.method} makes whole tensors, which are not compared in parts; merge it, and compare the merge with diff`,
    );
  const { pairs, out: spelt } = pairsOf(expected, first, out);
  const inputs = [...plan.inputs, plannedInput(out)];
  const layerOf = (name: string) => spelt.architecture.places.get(name)?.layer ?? null;
  const { tensors: compared, cost, sampled } = await compareExpected(pairs, inputs, layerOf, controls);
  const config = await configDifferences(plan, opened.inputs, out);
  const facts = {
    out: out.checkpoint.path,
    against,
    method: plan.method,
    inputs: plan.inputs.map((input) => ({
      name: input.name,
      path: input.path,
      commit: nameWithCommit(input) ?? null,
    })),
    sample: sampled?.sample ?? null,
    ...cost,
    warnings: [...new Set([...plan.warnings, ...out.checkpoint.warnings, ...config.warnings])],
  };
  if (compared.every(({ state }) => state === 'equal')) {
    const [fault = null] = config.faults;
    const isIntact = fault === null;
    const verdict = isIntact ? 'intact' : 'different';
    return { ...facts, verdict, intact: isIntact, tensors: compared, fault, faults: config.faults };
  }
  const sources = sourcesOfInputs(opened.inputs, opened.bases);
  const read = pairs.flatMap(({ name, expected: wanted, found }) => [
    ...(wanted === undefined ? [] : [wanted.operand]),
    ...(found === undefined ? [] : [operandOf(plan.inputs.length, found)]),
    ...sources.flatMap((source) => source.tensor(name)?.operand ?? []),
  ]);
  const more = sampled && (await sourcesInTiles(sampled.tensors, sources));
  const bytes = sampled && more && new SampledBytes(sampled.tensors, inputs, more);
  const { result, cost: ofEvidence } = await overInputs(
    controls,
    'comparison',
    inputs,
    more ? [...sampled.tensors.flatMap(({ reads = [] }) => reads), ...more] : read.flatMap(sourcesOfOperand),
    async (pool, files) => {
      await using reader = new ValueReader(pool, files);
      return await explained(
        new Evidence({
          ...{ out: spelt, outInput: plan.inputs.length, pairs, tensors: compared, sources, reader },
          ...{ method: plan.method, recipe, bytes },
          replan: (other) => replanned(other, plan, planAgain),
        }),
        config.faults,
      );
    },
  );
  return {
    ...facts,
    ...result,
    intact: false,
    fault: result.faults[0] ?? null,
    bytesRead: facts.bytesRead + ofEvidence.bytesRead,
    seconds: facts.seconds + ofEvidence.seconds,
  };
};

const explained = async (
  evidence: Evidence,
  ofConfig: readonly Fault[],
): Promise<Pick<MergeProof, 'tensors' | 'faults' | 'verdict'>> => {
  const isRandom = (name: string) => evidence.expected.get(name)?.isRandom === true;
  const roundings = new Map<string, Rounding>();
  const [drawn, coarse] = [new Set<string>(), new Set<string>()];
  for (const { name, state } of evidence.tensors) {
    const sample = state === 'different' ? await evidence.sampleOf(name) : undefined;
    const rounding = sample && (await roundingOf(evidence, sample));
    const isRounded = rounding !== undefined && rounding.leads === undefined;
    if (!isRounded && sample !== undefined && isAsDrawn(evidence, sample)) drawn.add(name);
    else if (rounding !== undefined && isCoarse(evidence, sample)) coarse.add(name);
    else if (rounding !== undefined && (isRounded || !isRandom(name))) roundings.set(name, rounding);
  }
  evidence.coarse = coarse;
  const fixed = [...roundings].filter(([name]) => !isRandom(name));
  evidence.drifts = driftsIn(new Map(fixed), (dtype) => driftOptions(evidence, dtype));
  const kinds = new Map(
    [...roundings].flatMap(([name, { kind }]) => (evidence.drifts.has(name) ? [] : [[name, kind]])),
  );
  const tensors = evidence.tensors.map((tensor): ProvenTensor => {
    if (kinds.has(tensor.name)) return { ...tensor, state: 'rounding' };
    return drawn.has(tensor.name) ? { ...tensor, state: 'not_comparable' } : tensor;
  });
  evidence.tensors = tensors;
  const wrong = tensors.filter(({ state }) => !['equal', 'rounding', 'not_comparable'].includes(state));
  const faults = [
    ...(await explain(
      evidence,
      wrong.map(({ name }) => name),
    )),
    ...drawnFaults(tensors),
    ...(await roundingFaults(evidence, kinds)),
  ];
  const verdict = verdictOf(tensors, faults);
  if (ofConfig.length === 0) return { tensors, faults, verdict };
  if (verdict === 'different' || verdict === 'not_this')
    return { tensors, faults: [...faults, ...ofConfig], verdict };
  return { tensors, faults: [...ofConfig, ...faults], verdict: 'different' };
};

/** True if all numbers of a tensor fit a dtype shorter than the recipe's and the file's. */
const isCoarse = ({ recipe }: Evidence, sample: Sampled | undefined): boolean =>
  sample?.held !== undefined &&
  !isOfDtype(sample.wanted, sample.held) &&
  !JSON.stringify(recipe).includes(`"${torchName(arithmeticOf(sample.held))}"`);

const driftOptions = ({ recipe, method }: Evidence, dtype: Dtype): DriftOptions | undefined =>
  isShortDtype(dtype)
    ? { dtype, error: errorOfWeights(recipe, dtype), byNorms: byNorms.test(method) }
    : undefined;

/**
 * Relative difference from which tensors count as unrelated. Independent tensors of equal size differ by √2.
 */
const unrelated = 0.9;

const verdictOf = (tensors: readonly ProvenTensor[], faults: readonly Fault[]): ProofVerdict => {
  const isRight = ({ state }: ProvenTensor) => state === 'equal' || state === 'rounding';
  const isDrawn = ({ state }: ProvenTensor) => state === 'not_comparable';
  if (tensors.some(isDrawn) && tensors.every((one) => isRight(one) || isDrawn(one))) return 'not_comparable';
  if (tensors.every(isRight)) return tensors.every(({ state }) => state === 'equal') ? 'intact' : 'rounded';
  const known = new Set(
    faults.flatMap(({ kind, tensors: names }) => (/^(unexplained|another_base)$/.test(kind) ? [] : names)),
  );
  const foreign = tensors.filter(
    (tensor) =>
      !isRight(tensor) &&
      !isDrawn(tensor) &&
      (tensor.state === 'missing' || tensor.relative === null
        ? tensor.state !== 'different' || tensor.reason !== undefined
        : tensor.relative >= unrelated && !known.has(tensor.name)),
  );
  return foreign.length > tensors.length / 2 ? 'not_this' : 'different';
};

const openInputs = async (
  plan: MergePlan,
): Promise<{
  readonly inputs: OpenedCheckpoint[];
  readonly bases: ReadonlyMap<number, OpenedCheckpoint>;
}> => {
  const inputs = await openEach(
    plan.inputs.map(({ role, path }) => ({ role, model: path })),
    openModelOrAdapter,
  );
  const bases = new Map<number, OpenedCheckpoint>();
  for (const [index, { adapted }] of plan.inputs.entries()) {
    const [base] = adapted === undefined ? [] : await openEach([{ role: 'base', model: adapted.base.path }]);
    if (base !== undefined) bases.set(index, base);
  }
  return { inputs, bases };
};

const replanned = async (
  recipe: CompleteRecipe,
  { inputs }: MergePlan,
  planAgain: ProofParts['planAgain'],
): Promise<ReadonlyMap<string, ExpectedTensor> | undefined> => {
  try {
    const plan = await planAgain(recipe);
    const numbers = plan.inputs.map(({ path }) => inputs.findIndex((input) => input.path === path));
    if (numbers.includes(-1)) return undefined;
    return new Map(
      [...expectedOf(plan).tensors].map(([name, tensor]) => [name, withInputs(tensor, numbers)]),
    );
  } catch (error) {
    // Ignores a recipe that cannot be planned, because it did not make the output.
    if (error instanceof LayerloomError && error.code !== 'INTERRUPTED') return undefined;
    throw error;
  }
};
