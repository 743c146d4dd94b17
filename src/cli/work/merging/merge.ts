import { explainTensor, type MergePlanOptions, planMerge } from '../../../api/plan-merge.js';
import { LayerloomError } from '../../../core/base/errors/errors.js';
import { pick } from '../../../core/base/errors/lookup.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { counted } from '../../../core/base/format.js';
import { checkRun } from '../../../core/engine/check-run.js';
import { checkThreads } from '../../../core/engine/run.js';
import { type MergeResult, runPlan } from '../../../core/engine/run-plan.js';
import { suitsMainThread } from '../../../core/engine/threads/main-thread.js';
import type { Kept } from '../../../core/methods/framework/declaration/method.js';
import { methods } from '../../../core/methods/index.js';
import type { RecipeInput, RecipesByMethod } from '../../../core/methods/recipes.js';
import { parseAddress } from '../../../core/models/address/address.js';
import type { ExpertLayout } from '../../../core/models/experts/layouts.js';
import { isBareAdapter } from '../../../core/models/reading/read-model.js';
import type { MergePlan } from '../../../core/plan/plan.js';
import { notesOf } from '../../../core/plan/reports/method-report.js';
import type { RecipeOverrides } from '../../../core/settle/settle.js';
import type { DtypeName } from '../../../core/tensor/dtype.js';
import { note, stdoutColours, warn } from '../../print.js';
import { describeExplanation } from '../../text/explanation-text.js';
import { drawLayers } from '../../text/layer-stack.js';
import { describeWritten, whyNotLinked } from '../../text/link-text.js';
import { describeQuantised, warningsOfQuantised } from '../../text/models/quantised-text.js';
import { describePlan, describeRecipe } from '../../text/plan-text.js';
import { describeTruncated } from '../../text/truncated-text.js';
import { interruptible } from '../running/interrupt.js';
import { requireOut } from '../running/require-out.js';
import { reported, show } from '../running/show.js';
import { chatTemplateOption } from './chat-template-option.js';
import type { CommonOptions } from './merge-options.js';
import { saveRecipe } from './save-recipe.js';

export interface MergeCommandOptions
  extends CommonOptions,
    Pick<RecipeOverrides, 'as' | 'quantize' | 'config' | 'rank' | 'chatTemplate'> {
  readonly dtype?: string;
  readonly experts?: ExpertLayout;
  readonly strict?: boolean;
  readonly explain?: string;
  readonly allowChanged?: boolean;
  readonly saveRecipe?: string;
}

export const mergeCommand = async (
  recipe: RecipeInput | string,
  options: MergeCommandOptions,
): Promise<void> => {
  if (options.explain !== undefined) return await explainCommand(recipe, options.explain, options);
  if (!options.dryRun) requireOut(options);
  // Uses one handler for the whole command, because a signal between two handlers would be lost.
  await interruptible((signal) => planAndRun(recipe, options, signal));
};

/** Runs a method's command. Options that override any recipe are applied when planning. */
export const methodCommand = (method: keyof RecipesByMethod, options: MergeCommandOptions): Promise<void> => {
  const parameters = [...Object.keys(methods.get(method)?.schema.shape ?? {}), 'stack'];
  const given = Object.entries(options).filter(([name]) => parameters.includes(name));
  return mergeCommand({ method, ...Object.fromEntries(given) } as unknown as RecipeInput, options);
};

/** @throws USAGE for an adapter in place of its base */
export const checkOrder = async (base: string, adapter: string): Promise<void> => {
  const isAdapter = async (model: string) => isBareAdapter(await parseAddress(model));
  if ((await isAdapter(base)) && !(await isAdapter(adapter)))
    throw new LayerloomError('USAGE', {
      reason: `${base} is an adapter: give the base first, then the adapter`,
    });
};

const planOptions = async (options: MergeCommandOptions): Promise<MergePlanOptions> => ({
  ...pick(options, 'layout', 'experts', 'quantize', 'config', 'maxShardSize', 'analysis', 'strict'),
  ...pick(options, 'allowChanged', 'as', 'rank', 'allowNonFinite', 'tokenizer'),
  dtype: options.dtype as DtypeName | undefined,
  chatTemplate: await chatTemplateOption(options.chatTemplate),
  threads: checkThreads(options.threads),
  download: options.download && options.dryRun ? 'headers' : options.download,
});

const threadsFor = (plan: MergePlan, { threads }: Pick<MergeCommandOptions, 'threads'>): number =>
  threads === undefined && suitsMainThread(plan) ? 1 : checkThreads(threads);

const planAndRun = async (
  recipe: RecipeInput | string,
  options: MergeCommandOptions,
  signal: AbortSignal,
): Promise<void> => {
  const planning = await planOptions(options);
  const plan = await reported(options, (onProgress) =>
    planMerge(recipe, { ...planning, signal, onProgress }),
  );
  if (!options.quiet) {
    plan.warnings.forEach(warn);
    notesOf(plan).forEach(note);
    const unlinked = options.link === 'hard' || options.link === 'symbolic' ? whyNotLinked(plan) : undefined;
    if (unlinked !== undefined) warn(`${optionName('link', options.link)}: ${unlinked}`);
  }
  if (options.saveRecipe !== undefined) await saveRecipe(plan, options.saveRecipe, options.force ?? false);
  if (options.dryRun) {
    await warnOfRun(plan, options);
    return show(plan, options, () => describePlan(plan, threadsFor(plan, options), stdoutColours()));
  }
  const { threads, resume, force, checksums, attest, link, download } = options;
  const out = requireOut(options);
  const result = await reported(options, (onProgress) =>
    runPlan(plan, { out, threads, resume, force, checksums, attest, link, download, signal, onProgress }),
  );
  if (!options.quiet) {
    result.warnings.slice(plan.warnings.length).forEach(warn);
    if (result.quantised !== undefined) warningsOfQuantised(result.quantised).forEach(warn);
  }
  show(result, options, () => describeResult(plan, result));
};

const warnOfRun = async (plan: MergePlan, options: MergeCommandOptions): Promise<void> => {
  const { out, quiet } = options;
  const { wanted, warnings } = await checkRun(plan, options);
  if (quiet) return;
  warnings.forEach(warn);
  for (const { code, message } of wanted)
    warn(
      code === 'OUTPUT_EXISTS'
        ? `${out} exists: the merge will need ${optionName('force')}, or another output`
        : message,
    );
};

const explainCommand = async (
  recipe: RecipeInput | string,
  tensor: string,
  options: MergeCommandOptions,
): Promise<void> =>
  show(await explainTensor(recipe, tensor, await planOptions(options)), options, describeExplanation);

const describeResult = (plan: MergePlan, result: MergeResult): string =>
  [
    describeRecipe(plan),
    '',
    drawLayers(plan, stdoutColours()),
    ...(result.truncated === undefined ? [] : ['', describeTruncated(result.truncated)]),
    ...(result.quantised === undefined ? [] : ['', describeQuantised(result.quantised)]),
    ...(result.kept === undefined ? [] : ['', describeKept(result.kept.all)]),
    '',
    result.out,
    describeWritten(result),
  ].join('\n');

const describeKept = ({ rows, rowsKept, parameters, parametersKept }: Kept): string =>
  `  kept from the expert: ${rowsKept} of ${counted(rows, 'row')}, ${((100 * parametersKept) / parameters).toFixed(2)} % of the parameters\n  (per tensor in layerloom.json)`;
