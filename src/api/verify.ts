import { randomInt } from 'node:crypto';
import { join } from 'node:path';
import { checkProof } from '../core/attestation/check-proof.js';
import { LayerloomError } from '../core/base/errors/errors.js';
import { invalidParameter } from '../core/base/errors/invalid-parameter.js';
import { optionName } from '../core/base/errors/option-name.js';
import { exists } from '../core/base/files/exists.js';
import { version } from '../core/base/files/version.js';
import { isCount } from '../core/base/is-count.js';
import { Run, type RunControls } from '../core/engine/run.js';
import { checkLoading } from '../core/loading/check-loading.js';
import { readClaim } from '../core/measure/proof/claim.js';
import type { SampleControls } from '../core/measure/proof/compare-expected.js';
import type { MergeProof } from '../core/measure/proof/proof.js';
import { proveMerge } from '../core/measure/proof/prove-merge.js';
import type { ProofSample } from '../core/measure/proof/sample/plan-sample.js';
import { compareCard } from '../core/measure/verification/card-recipes.js';
import { compareRecord, editedRecord } from '../core/measure/verification/compare-record.js';
import { compareWithPlan } from '../core/measure/verification/compare-with-plan.js';
import { findAdditions } from '../core/measure/verification/find-additions.js';
import { isOutput } from '../core/measure/verification/is-output.js';
import type { LoadingVerdict } from '../core/measure/verification/loading-verdict.js';
import { mistakenInputs } from '../core/measure/verification/mistaken-inputs.js';
import type { OutputVerification, VerifiedFile } from '../core/measure/verification/verification.js';
import { verifyFiles } from '../core/measure/verification/verify-files.js';
import { readWrittenRecord, type WrittenRecord } from '../core/measure/verification/written-record.js';
import type { RecipeInput } from '../core/methods/recipes.js';
import { parseAddress } from '../core/models/address/address.js';
import { adapterConfigName, cardName, provenanceName } from '../core/models/checkpoint/files/file-names.js';
import { readJsonObject } from '../core/models/checkpoint/files/json.js';
import { bringModels } from '../core/models/sources/bring-models.js';
import { locateText } from '../core/models/sources/locate.js';
import { openModelOrAdapter } from '../core/plan/compile/inputs/models.js';
import type { MergePlan } from '../core/plan/plan.js';
import { identityProver } from '../core/statements/identity-signature.js';
import { keyProver } from '../core/statements/key-signature.js';
import { readKey } from '../core/statements/keys.js';
import type { Prover } from '../core/statements/signature.js';
import { planMerge } from './plan-merge.js';
import { recipeOf } from './recipe-of.js';

export interface VerifyOutputOptions extends RunControls {
  /** Recompute the output and compare. Default false: only compare with `layerloom.json`. */
  againstInputs?: boolean | undefined;
  /**
   * Share of tiles to recompute, above 0 and at most 1; default 1. With `against`, that share of each
   * tensor's tiles; of hub models, only their byte ranges are fetched.
   */
  sample?: number | undefined;
  /** Whole number that decides which tiles a sample has. Default: random; the result has it. */
  seed?: number | undefined;
  /** Called if `against` and `sample` are given, with the planned reads, before reading weights. */
  onSample?: ((sample: ProofSample) => void) | undefined;
  /** Ask transformers, or PEFT, whether the output loads, without reading weights; default false. */
  loads?: boolean | undefined;
  /**
   * Public key in PEM. The key's owner must have signed the folder (`model.sig`). For a folder that no merge
   * wrote, this is the only check.
   */
  key?: string | undefined;
  /**
   * Identity, such as an e-mail address or a workflow's URL, that must have signed the folder (`model.sig`)
   * through Sigstore. Compared character by character. Needs `issuer`, and the package sigstore.
   */
  identity?: string | undefined;
  /** URL of the identity's issuer (OIDC). */
  issuer?: string | undefined;
  /**
   * Compare the output's tensors with the result of this: a recipe's file in either dialect, a model card, a
   * folder with either or with `mergekit_config.yml`, a `layerloom.json`, `BASE+ADAPTER`, or a model. Any
   * program may have written the output.
   */
  against?: string | undefined;
  /** Python for `loads`: a path, or a name on the PATH. Default: the Python of lm_eval, else `python3`. */
  python?: string | undefined;
}

/** With `against`, returns a proof by tensors; otherwise a verification of files. */
interface Verify {
  (out: string, options: VerifyOutputOptions & { readonly against: string }): Promise<MergeProof>;
  (
    out: string,
    options?: VerifyOutputOptions & { readonly against?: undefined },
  ): Promise<OutputVerification>;
  (out: string, options?: VerifyOutputOptions): Promise<OutputVerification | MergeProof>;
}

/**
 * Verifies that an output can be opened, and that its files match its `layerloom.json`. With `againstInputs`,
 * also verifies that its weights and side files are the recipe's result. Inputs are found through
 * `layerloom.json` or, without it, through the model card. Changes nothing.
 *
 * With `against`, compares the tensors of anybody's merge with a recipe's result, and names the kind of each
 * difference.
 *
 * @example const { intact } = await verify('./merged', { againstInputs: true, sample: 0.05 })
 * @param out a merge's directory, or `org/name[@revision]` of the hub cache
 * @throws LayerloomError OUTPUT_UNRECORDED, INVALID_PARAMETER, SIGSTORE_UNAVAILABLE, READ_FAILED,
 * WRITE_FAILED, INTERRUPTED; with `againstInputs` the codes of `planMerge`
 */
export const verify = (async (out: string, { against, onSample, ...options }: VerifyOutputOptions = {}) => {
  if (against === undefined) return await verifyOutput(out, options);
  const { againstInputs, sample, seed, loads, key, identity, issuer, python, ...controls } = options;
  const others = { againstInputs, loads, key, identity, issuer, python };
  for (const [name, value] of Object.entries(others))
    if (value !== undefined && value !== false)
      throw invalidParameter(name, value, `no value together with ${optionName('against')}`);
  checkSample(true, sample, seed);
  const draw = sample === undefined ? undefined : { share: sample, seed: seed ?? randomInt(2 ** 32) };
  return await verifyAgainst(out, against, { ...controls, draw, onSample });
}) as Verify;

const verifyAgainst = async (
  out: string,
  against: string,
  controls: RunControls & SampleControls,
): Promise<MergeProof> => {
  if (against === '') throw invalidParameter('against', against, 'a recipe, a card, BASE+ADAPTER or a model');
  const warnings = await bringModels([out], controls);
  const claim = (await readClaim(against)) as string | RecipeInput;
  const { draw: _draw, onSample: _onSample, ...running } = controls;
  const plan = await planMerge(claim, { ...running, allowChanged: true });
  const planAgain = (recipe: object) => planMerge(recipe as RecipeInput, running);
  const recipe = recipeOf(plan) as unknown as Readonly<Record<string, unknown>>;
  const proof = await proveMerge({ out, against, plan, recipe, planAgain }, controls);
  return { ...proof, warnings: [...warnings, ...proof.warnings] };
};

const verifyOutput = async (
  out: string,
  {
    againstInputs,
    sample,
    seed,
    loads = false,
    key,
    identity,
    issuer,
    python,
    ...controls
  }: Omit<VerifyOutputOptions, 'against' | 'onSample'>,
): Promise<OutputVerification> => {
  checkSample(againstInputs ?? false, sample, seed);
  if (python !== undefined && !loads)
    throw invalidParameter('python', python, `nothing without ${optionName('loads')}`);
  const { path } = await locateText(out);
  const prover = await proverOf({ key, identity, issuer }, path);
  const isRecorded = await isOutput(path, againstInputs ?? false, prover !== undefined);
  const record = isRecorded ? await readWrittenRecord(path) : undefined;
  if (againstInputs && record?.isMerge === false)
    throw invalidParameter('againstInputs', true, `no value for ${path}, which no merge wrote`);
  await using run = new Run(controls, false);
  const proof = await checkProof(path, record, prover, run).catch((error: unknown) => {
    throw run.reasonOf(error, {});
  });
  const recorded = await verifyFiles(path, record?.files ?? [], run, proof.hashes).catch((error: unknown) => {
    throw run.reasonOf(error, {});
  });
  const isOurs = isRecorded || againstInputs === true;
  const structure = isOurs ? await faultOfStructure(path) : null;
  const from = join(path, isRecorded ? provenanceName : cardName);
  const planned = againstInputs ? await planAgain(from, record, controls) : undefined;
  const drawn = { share: sample ?? 1, seed: seed ?? randomInt(2 ** 32) };
  const again = planned?.plan && (await compareWithPlan(path, planned.plan, drawn, controls));
  const known = together(
    recorded,
    proof.files,
    again?.files ?? [],
    planned?.plan ? await mistakenInputs(path, record, planned.plan.inputs) : [],
    record ? editedRecord(record) : [],
    record && planned?.plan ? compareRecord(record, planned.plan) : [],
    isOurs ? await compareCard(path, again?.recipe ?? record?.recipe) : [],
  );
  const own = [...known.map(({ file }) => file), ...(isRecorded ? [provenanceName] : [])];
  const inputs = again?.tiles.inputs.map((input) => input.path) ?? [];
  const { unlisted, damage } = await findAdditions(path, new Set(own), new Set(inputs));
  const files = [...known, ...damage];
  const wrong = files.filter(({ state }) => state === 'different' || state === 'missing');
  const intact = structure === null && wrong.length === 0 && (again?.tiles.different.length ?? 0) === 0;
  const isChecked = files.every(({ state }) => state !== 'unrecorded');
  const loading = loads ? await loadingOf(path, { python, signal: controls.signal }) : null;
  const { threads, seconds, bytesRead, bytesWritten } = run.cost;
  return {
    out: path,
    layerloom: record?.layerloom ?? null,
    verdict: intact ? (isChecked ? 'intact' : 'intact-by-size') : 'damaged',
    intact,
    structure,
    files,
    unlisted,
    againstInputs: again?.tiles ?? null,
    statement: proof.statement,
    signature: proof.signature,
    loading,
    bytesRead: bytesRead + (again?.cost.bytesRead ?? 0),
    bytesWritten,
    threads: again?.cost.threads ?? threads,
    seconds,
    warnings: [
      ...recordWarnings(record),
      ...proof.warnings,
      ...(planned?.warnings ?? []),
      ...(again?.warnings ?? []),
    ],
  };
};

const proverOf = async (
  { key, identity, issuer }: Pick<VerifyOutputOptions, 'key' | 'identity' | 'issuer'>,
  path: string,
): Promise<Prover | undefined> => {
  if (key !== undefined && identity !== undefined)
    throw invalidParameter('identity', identity, `nothing beside ${optionName('key')}`);
  if (issuer !== undefined && identity === undefined)
    throw invalidParameter('issuer', issuer, `nothing without ${optionName('identity')}`);
  if (key !== undefined) return keyProver(await readKey(key, 'public', path));
  if (identity === undefined) return undefined;
  if (issuer === undefined || identity === '' || issuer === '')
    throw invalidParameter('identity', identity, `an identity, with ${optionName('issuer')} and its URL`);
  return identityProver(identity, issuer);
};

const loadingOf = async (
  path: string,
  options: { readonly python?: string | undefined; readonly signal?: AbortSignal | undefined },
): Promise<LoadingVerdict> => {
  const settings = join(path, adapterConfigName);
  const isAdapter = (await exists(settings)) && !(await exists(join(path, 'config.json')));
  const name = isAdapter ? (await readJsonObject(settings))['base_model_name_or_path'] : undefined;
  const base = typeof name === 'string' ? await locateText(name).catch(() => undefined) : undefined;
  return checkLoading(path, { ...options, base: base?.path });
};

const checkSample = (againstInputs: boolean, sample: number | undefined, seed: number | undefined): void => {
  if (sample !== undefined && !againstInputs)
    throw invalidParameter('sample', sample, `nothing without ${optionName('againstInputs')}`);
  if (sample !== undefined && !(sample > 0 && sample <= 1))
    throw invalidParameter('sample', sample, 'a number above 0 and at most 1');
  if (seed !== undefined && !isCount(seed)) throw invalidParameter('seed', seed, 'a whole number, 0 or more');
};

/** Returns why an output cannot be opened as a model or adapter, or what its index lacks; null if neither. */
const faultOfStructure = async (path: string): Promise<string | null> => {
  try {
    const { checkpoint } = await openModelOrAdapter(await parseAddress(path));
    return checkpoint.warnings[0] ?? null;
  } catch (error) {
    if (error instanceof LayerloomError) return error.message;
    throw error;
  }
};

const recordWarnings = (record: WrittenRecord | undefined): string[] => [
  ...(record === undefined || record.layerloom === version
    ? []
    : [`this is layerloom ${version}, but the output was written by ${record.layerloom}`]),
  ...(record !== undefined && record.isSealed === undefined
    ? [
        `${provenanceName} was written by an earlier version, without a checksum of itself, so edits of it cannot be detected`,
      ]
    : []),
];

/**
 * Plans a record's merge again. Only warns if inputs have changed, because verification finds the effect, and if an
 * edited record is no recipe, because the record already counts as damaged.
 */
const planAgain = async (
  recipe: string,
  record: WrittenRecord | undefined,
  controls: RunControls,
): Promise<{ readonly plan?: MergePlan; readonly warnings: readonly string[] }> => {
  try {
    return { plan: await planMerge(recipe, controls), warnings: [] };
  } catch (error) {
    if (!(error instanceof LayerloomError)) throw error;
    if (error.code === 'INPUT_NOT_AS_RECORDED') {
      const { file, reason } = (error as LayerloomError<'INPUT_NOT_AS_RECORDED'>).details;
      const plan = await planMerge(recipe, { ...controls, allowChanged: true });
      return { plan, warnings: [`${file} ${reason} since the merge`] };
    }
    if (record?.isSealed !== false || error.code === 'INTERRUPTED') throw error;
    return { warnings: [`not compared with the inputs: ${error.message}`] };
  }
};

/** Merges entries by file. A difference overrides equality. */
const together = (...lists: readonly (readonly VerifiedFile[])[]): VerifiedFile[] => {
  const files = new Map<string, VerifiedFile>();
  for (const one of lists.flat()) {
    const former = files.get(one.file);
    if (former === undefined || rank(one) > rank(former))
      files.set(one.file, { ...one, bytes: one.bytes ?? former?.bytes ?? null });
  }
  return [...files.values()];
};

const rank = ({ state }: VerifiedFile): number =>
  ['unrecorded', 'edited', 'equal', 'different', 'missing'].indexOf(state);
