import { explainTensor } from '../api/explain-tensor.js';
import { planMerge } from '../api/plan-merge.js';
import { describeExplanation } from '../documents/text/explanation-text.js';
import { drawLayers } from '../documents/text/layer-stack.js';
import { describeWritten, whyNotLinked } from '../documents/text/link-text.js';
import { describePlan, describeRecipe } from '../documents/text/plan-text.js';
import { describeTruncated } from '../documents/text/truncated-text.js';
import { checkRun } from '../engine/check-run.js';
import { checkThreads } from '../engine/run.js';
import { type MergeResult, type RunOptions, runPlan } from '../engine/run-plan.js';
import type { Kept } from '../methods/framework/method.js';
import type { RecipeInput } from '../methods/recipes.js';
import { notesOf } from '../plan/method-report.js';
import type { MergePlan } from '../plan/plan.js';
import type { Download } from '../sources/source.js';
import { chatTemplateOption } from './chat-template-option.js';
import { interruptSignal } from './interrupt.js';
import { type CommonOptions, type OutputOptions, requireOut } from './options.js';
import { note, printJson, printLine, stdoutColours, warn } from './print.js';
import { ProgressDisplay } from './progress.js';
import { recipeOf } from './recipe-of.js';
import { saveRecipe } from './save-recipe.js';

/** Options of commands that write one checkpoint; some are of `merge` alone. */
export interface MergeCommandOptions extends CommonOptions, OutputOptions {
  readonly outShardSize?: string;
  readonly strict?: boolean;
  readonly explain?: string;
  readonly allowChanged?: boolean;
  readonly saveRecipe?: string;
  readonly chatTemplate?: string;
}

/**
 * Plans and runs a merge and prints the result; with `--dry-run` prints the plan, with `--explain` one
 * tensor's formula.
 */
export const mergeCommand = async (
  recipe: RecipeInput | string,
  options: MergeCommandOptions,
): Promise<void> => {
  if (options.explain !== undefined) return await explainCommand(recipe, options.explain, options);
  if (!options.dryRun) requireOut(options);
  // One handler covers planning and running, since a signal between two handlers would be lost.
  const { signal, release } = interruptSignal();
  try {
    await planAndRun(recipe, options, signal);
  } finally {
    release();
  }
};

/** Merges by a method whose parameters are options of the command. */
export const methodCommand = (
  method: Parameters<typeof recipeOf>[0],
  options: MergeCommandOptions & Readonly<Record<string, unknown>>,
): Promise<void> => mergeCommand(recipeOf(method, options), options);

const planAndRun = async (
  recipe: RecipeInput | string,
  options: Parameters<typeof mergeCommand>[1],
  signal: AbortSignal,
): Promise<void> => {
  const threads = checkThreads(options.threads);
  const chatTemplate = await chatTemplateOption(options.chatTemplate);
  const plan = await withProgress(options, (onProgress) =>
    planMerge(recipe, {
      layout: options.layout,
      maxShardSize: options.outShardSize ?? options.maxShardSize,
      analysis: options.analysis,
      strict: options.strict,
      allowChanged: options.allowChanged,
      // A recipe made from command-line options has these among its parameters.
      dtype: typeof recipe === 'string' ? options.dtype : undefined,
      as: options.as,
      rank: options.rank,
      allowNonFinite: options.allowNonFinite,
      chatTemplate,
      tokenizer: typeof recipe === 'string' ? options.tokenizer : undefined,
      threads,
      download: howMuch(options),
      signal,
      onProgress,
    }),
  );
  if (!options.quiet) {
    plan.warnings.forEach(warn);
    notesOf(plan).forEach(note);
    const unlinked = options.link === 'hard' || options.link === 'symbolic' ? whyNotLinked(plan) : undefined;
    if (unlinked !== undefined) warn(`--link ${options.link}: ${unlinked}`);
  }
  if (options.saveRecipe !== undefined) await saveRecipe(plan, options.saveRecipe, options.force ?? false);
  if (options.dryRun) {
    await warnOfRun(plan, options);
    if (options.json) printJson(plan);
    else if (!options.quiet) printLine(describePlan(plan, threads, stdoutColours()));
    return;
  }
  const result = await runWithProgress(plan, requireOut(options), options, signal);
  if (options.json) printJson(result);
  else if (!options.quiet) printLine(describeResult(plan, result));
};

/** Checks what the run would; what an option would remove does not stop a dry run, which says so. */
const warnOfRun = async (plan: MergePlan, options: MergeCommandOptions): Promise<void> => {
  const { out, force, resume, link, download, quiet } = options;
  for (const { code, message } of await checkRun(plan, { out, force, resume, link, download }))
    if (!quiet)
      warn(code === 'OUTPUT_EXISTS' ? `${out} exists: the merge needs --force, or another output` : message);
};

/** A dry run fetches no weights. */
const howMuch = ({ download = false, dryRun = false }: CommonOptions): Download =>
  download && dryRun ? 'headers' : download;

/** Prints how one tensor is computed. */
const explainCommand = async (
  recipe: RecipeInput | string,
  tensor: string,
  { json, quiet, analysis, threads, dtype, as, rank, tokenizer, ...options }: MergeCommandOptions,
): Promise<void> => {
  const explanation = await explainTensor(recipe, tensor, {
    analysis,
    allowChanged: options.allowChanged,
    allowNonFinite: options.allowNonFinite,
    download: options.download,
    as,
    rank,
    threads: checkThreads(threads),
    dtype: typeof recipe === 'string' ? dtype : undefined,
    chatTemplate: await chatTemplateOption(options.chatTemplate),
    tokenizer: typeof recipe === 'string' ? tokenizer : undefined,
  });
  if (json) printJson(explanation);
  else if (!quiet) printLine(describeExplanation(explanation));
};

/** Shows progress while `work` runs, unless `quiet`. */
const withProgress = async <T>(
  { quiet }: OutputOptions,
  work: (onProgress: RunOptions['onProgress']) => Promise<T>,
): Promise<T> => {
  const progress = new ProgressDisplay(process.stderr);
  try {
    return await work(quiet ? undefined : progress.show);
  } finally {
    progress.end();
  }
};

const runWithProgress = async (
  plan: MergePlan,
  out: string,
  options: CommonOptions & OutputOptions,
  signal: AbortSignal,
): Promise<MergeResult> => {
  const { threads, resume, force, checksums, link, download } = options;
  const result = await withProgress(options, (onProgress) =>
    runPlan(plan, { out, threads, resume, force, checksums, link, download, signal, onProgress }),
  );
  if (!options.quiet) result.warnings.slice(plan.warnings.length).forEach(warn);
  return result;
};

const describeResult = (plan: MergePlan, result: MergeResult): string =>
  [
    describeRecipe(plan),
    '',
    drawLayers(plan, stdoutColours()),
    ...(result.truncated === undefined ? [] : ['', describeTruncated(result.truncated)]),
    ...(result.kept === undefined ? [] : ['', describeKept(result.kept.all)]),
    '',
    result.out,
    describeWritten(result),
  ].join('\n');

const describeKept = ({ rows, rowsKept, parameters, parametersKept }: Kept): string =>
  `  kept from the expert: ${rowsKept} of ${rows} rows, ${((100 * parametersKept) / parameters).toFixed(2)} % of the parameters\n  (per tensor in layerloom.json)`;
