import colours from 'picocolors';
import { checkOutput } from '../engine/output.js';
import { checkThreads, type MergeResult, runPlan } from '../engine/run-plan.js';
import { LayerloomError } from '../errors.js';
import type { MergePlan } from '../plan/plan.js';
import { planMerge } from '../plan/plan-merge.js';
import type { RecipeInput } from '../recipe/recipe.js';
import { formatBytes, formatRate, formatSeconds } from '../report/format.js';
import { drawLayerStack } from '../report/layer-stack.js';
import { describePlan, describeRecipe } from '../report/plan.js';
import { interruptSignal } from './interrupt.js';
import type { CommonOptions, OutputOptions } from './options.js';
import { printJson, printLine, warn } from './print.js';
import { ProgressDisplay } from './progress.js';

/** Plans a merge and prints the plan, or runs it and prints what came of it. */
export const mergeCommand = async (
  recipe: RecipeInput,
  options: CommonOptions & OutputOptions & { outShardSize?: string },
): Promise<void> => {
  if (!options.dryRun) requireOut(options);
  const threads = checkThreads(options.threads);
  const plan = await planMerge(recipe, {
    layout: options.layout,
    maxShardSize: options.outShardSize ?? options.maxShardSize,
  });
  if (!options.quiet) plan.warnings.forEach(warn);
  if (options.dryRun) {
    if (options.out !== undefined) await checkOutput(plan, options.out, options.force ?? false);
    if (options.json) printJson(plan);
    else if (!options.quiet) printLine(describePlan(plan, threads, stdoutColours()));
    return;
  }
  const result = await runWithProgress(plan, requireOut(options), options);
  if (options.json) printJson(result);
  else if (!options.quiet) printLine(describeResult(plan, result));
};

/** Colours where stdout is a terminal that shows them: NO_COLOR and FORCE_COLOR decide first. */
const stdoutColours = () =>
  colours.createColors(colours.isColorSupported && (process.stdout.isTTY || 'FORCE_COLOR' in process.env));

const requireOut = ({ out }: CommonOptions): string => {
  if (out === undefined)
    throw new LayerloomError('USAGE', { reason: "required option '-o, --out <dir>' not specified" });
  return out;
};

const runWithProgress = async (
  plan: MergePlan,
  out: string,
  options: CommonOptions & OutputOptions,
): Promise<MergeResult> => {
  const progress = new ProgressDisplay(process.stderr);
  const { signal, release } = interruptSignal();
  try {
    const { threads, resume, force, checksums, link } = options;
    const onProgress = options.quiet ? undefined : progress.show;
    const result = await runPlan(plan, { out, threads, resume, force, checksums, link, signal, onProgress });
    if (!options.quiet) result.warnings.slice(plan.warnings.length).forEach(warn);
    return result;
  } finally {
    progress.end();
    release();
  }
};

const describeResult = (
  plan: MergePlan,
  { out, bytesWritten, bytesResumed, seconds, threads, shards }: MergeResult,
): string => {
  const resumed = bytesResumed > 0 ? `, ${formatBytes(bytesResumed)} resumed` : '';
  return [
    describeRecipe(plan),
    '',
    drawLayerStack(plan, stdoutColours()),
    '',
    `${out}`,
    `${shards.length} shards, ${formatBytes(bytesWritten)} written${resumed} in ${formatSeconds(seconds)} (${formatRate(bytesWritten, seconds)}, ${threads} threads)`,
  ].join('\n');
};
