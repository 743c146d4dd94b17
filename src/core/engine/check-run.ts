import { dirname, resolve } from 'node:path';
import { type ErrorCode, LayerloomError } from '../base/errors/errors.js';
import { checkSpace } from '../models/checkpoint/files/disk-space.js';
import { instructionSets } from '../native/addon.js';
import { sourcesOfTensors } from '../plan/operands.js';
import type { MergePlan } from '../plan/plan.js';
import { memoryOf } from '../plan/reports/memory.js';
import { missingForPlan, verbatimFiles } from '../plan/reports/missing-weights.js';
import { requireWeights } from './bring-weights.js';
import { InputFiles } from './input-files.js';
import { realPathOf } from './output/apart.js';
import { checkWritable, existingAbove } from './output/durable.js';
import { checkDevice, checkLink } from './output/link.js';
import { checkOutput } from './output/output.js';
import { checkStaging } from './output/staging.js';
import { checkThreads } from './run.js';
import type { RunOptions } from './run-plan.js';
import { fitThreads } from './threads/fit-threads.js';

export interface CheckedOptions
  extends Pick<RunOptions, 'download' | 'force' | 'resume' | 'link' | 'threads'> {
  readonly out?: string | undefined;
}

export interface Checked {
  /** Errors that an option, such as --force, avoids. */
  readonly wanted: LayerloomError[];
  readonly warnings: readonly string[];
}

/**
 * Checks a run without reading weights or writing. Does not test for reflinks.
 *
 * @returns `wanted`: errors that an option or more space avoids (OUTPUT_EXISTS, DOWNLOAD_NEEDED,
 *   MEMORY_NEEDED, DISK_SPACE); `warnings`: that fewer threads will run
 * @throws LayerloomError other codes that `runPlan` throws before it reads weights
 */
export const checkRun = async (
  plan: MergePlan,
  { out, force = false, resume = false, link, download = false, threads }: CheckedOptions,
): Promise<Checked> => {
  instructionSets();
  if (link !== undefined) checkLink(link);
  const wanted: LayerloomError[] = [];
  const path = out === undefined ? undefined : await targetOf(plan, out, force, wanted);
  const tensors = plan.shards.flatMap((shard) => shard.tensors);
  const warnings = await checkMemory(tensors, threads, wanted);
  const inputs = await observed(plan, download, wanted);
  if (path === undefined) return { wanted, warnings };
  const done = await checkStaging(path, { ...plan, inputs }, resume);
  await checkWritable(dirname(path));
  const above = await existingAbove(dirname(path));
  if (link === 'hard') for (const file of verbatimFiles(plan)) await checkDevice(file, above, link);
  // Reserves no space for shards that may be linked: without `link`, a run may reflink them.
  const linked = link === 'copy' ? 0 : plan.cost.bytesVerbatim;
  await orWanted('DISK_SPACE', wanted, () => checkSpace(above, path, plan.cost.bytesToWrite - linked - done));
  return { wanted, warnings };
};

/**
 * Adds MEMORY_NEEDED to `wanted` if memory is too small for one thread.
 *
 * @returns a warning if fewer threads fit
 */
export const checkMemory = async (
  tensors: Parameters<typeof memoryOf>[0],
  threads: number | undefined,
  wanted: LayerloomError[],
): Promise<string[]> => {
  const fitting = await orWanted('MEMORY_NEEDED', wanted, async () =>
    fitThreads(memoryOf(tensors), checkThreads(threads)),
  );
  return fitting?.warning === undefined ? [] : [fitting.warning];
};

/**
 * Returns the result of `work`. If it fails with this code, adds the error to `wanted` and returns undefined.
 */
export const orWanted = async <T>(
  code: ErrorCode,
  wanted: LayerloomError[],
  work: () => Promise<T>,
): Promise<T | undefined> => {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof LayerloomError && error.code === code)) throw error;
    wanted.push(error);
    return undefined;
  }
};

const targetOf = async (
  plan: MergePlan,
  out: string,
  force: boolean,
  wanted: LayerloomError[],
): Promise<string> => {
  const output = await orWanted('OUTPUT_EXISTS', wanted, () => checkOutput(plan, out, force));
  return output?.path ?? (await realPathOf(resolve(out)));
};

const observed = async (
  plan: MergePlan,
  download: RunOptions['download'],
  wanted: LayerloomError[],
): Promise<MergePlan['inputs']> => {
  const missing = await missingForPlan(plan);
  try {
    requireWeights(missing, download);
  } catch (error) {
    wanted.push(error as LayerloomError);
  }
  if (missing.needs.length > 0) return plan.inputs;
  const sources = plan.shards.flatMap(({ tensors }) => sourcesOfTensors(tensors));
  await using inputs = await InputFiles.open(plan.inputs, sources, verbatimFiles(plan));
  return inputs.observed;
};
