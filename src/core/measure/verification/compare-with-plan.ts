import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { recompute, type Sample } from '../../engine/compute/recompute.js';
import type { RunControls, RunCost } from '../../engine/run.js';
import { recipeYaml } from '../../methods/recipe/document/recipe-yaml.js';
import { nameWithCommit } from '../../models/address/found-model.js';
import type { MergePlan, PlannedInput, PlannedShard } from '../../plan/plan.js';
import type { RecomputedTiles, VerifiedFile, VerifiedInput } from './verification.js';
import { compareSideFiles, notAFile } from './verify-files.js';

export interface ComparedWithPlan {
  readonly files: readonly VerifiedFile[];
  /** The recipe as the card has it. */
  readonly recipe: string;
  readonly tiles: RecomputedTiles;
  readonly cost: RunCost;
  readonly warnings: readonly string[];
}

/**
 * Recomputes tiles of an output's shards and compares them and the side files with the plan's. For missing
 * shards and wrong sizes, computes no tiles.
 *
 * @throws as `recompute`
 */
export const compareWithPlan = async (
  directory: string,
  plan: MergePlan,
  sample: Sample,
  controls: RunControls,
): Promise<ComparedWithPlan> => {
  const sized = await Promise.all(plan.shards.map((shard) => sizeOf(directory, shard)));
  const whole = plan.shards.filter((_, index) => sized[index]?.state === 'unrecorded');
  const { different, tiles, recomputed, bytes, warnings, ...cost } = await recompute(
    { ...plan, shards: whole },
    directory,
    sample,
    controls,
  );
  const shards = sized.map((shard): VerifiedFile => {
    if (shard.state !== 'unrecorded') return shard;
    if (different.some(({ file }) => file === shard.file)) return { ...shard, ...notOfInputs };
    return sample.share === 1 ? { ...shard, state: 'equal' } : shard;
  });
  return {
    files: [...shards, ...(await compareSideFiles(directory, plan.files))],
    recipe: recipeYaml(plan.completeRecipe),
    tiles: { ...sample, tiles, recomputed, bytes, different, inputs: plan.inputs.map(inputOf) },
    cost,
    warnings,
  };
};

const inputOf = (input: PlannedInput): VerifiedInput => ({
  name: input.name,
  path: input.path,
  commit: nameWithCommit(input) ?? null,
});

const notOfInputs = { state: 'different', reason: 'is not what the inputs give' } as const;

const sizeOf = async (directory: string, { file, bytes }: PlannedShard): Promise<VerifiedFile> => {
  const path = join(directory, file);
  const found = await stat(path).catch((cause: unknown) => notAFile(file, path, cause));
  if ('state' in found) return found;
  if (found.isFile() && found.size === bytes) return { file, bytes, state: 'unrecorded' };
  const reason = found.isFile()
    ? `has ${found.size} bytes instead of the ${bytes} that the inputs give`
    : 'is not a file';
  return { file, bytes: found.size, state: 'different', reason };
};
