import { basename, join } from 'node:path';
import { foundModels, isLocal, originOf } from '../../models/address/found-model.js';
import type { FileIdentity } from '../../models/checkpoint/checkpoint.js';
import { adapterConfigName } from '../../models/checkpoint/files/file-names.js';
import type { MergePlan, PlannedInput } from '../../plan/plan.js';

/** Parts of a plan that must be equal to continue from a staging directory. */
export type StagedPlan = Pick<MergePlan, 'layerloom' | 'method' | 'recipe' | 'inputs' | 'shards' | 'files'>;

/** Returns what identifies a file's content. Ignores ctime, which hard links change. */
const contentOf = (file: FileIdentity | undefined) =>
  file === undefined
    ? undefined
    : {
        ...file,
        // A hub model may have moved from the cache of ranges to the hub's cache.
        ...(file.content === undefined ? {} : { path: basename(file.path) }),
        seen: file.seen?.hash,
      };

/**
 * Returns what identifies an input: its path, or for a hub model, which may be in either cache, its origin.
 */
const placeOf = (input: PlannedInput) => [
  input.role,
  ...foundModels(input).map((part) => (isLocal(part) ? part.path : originOf(part))),
];

/** Returns the facts that identify side files; for hub models, only their names. */
const sideFilesOf = ({ files, inputs }: StagedPlan) => {
  const folders = inputs.flatMap(foundModels).flatMap((part) => (isLocal(part) ? [] : [part.path]));
  return files.map((file) =>
    'copyOf' in file && folders.some((folder) => file.copyOf === join(folder, file.name))
      ? { name: file.name }
      : file,
  );
};

export const planDifferences = (former: StagedPlan, plan: StagedPlan): string[] => {
  const differs = (part: (plan: StagedPlan) => unknown) =>
    JSON.stringify(part(former)) !== JSON.stringify(part(plan));
  if (former.layerloom !== plan.layerloom)
    return [`layerloom ${former.layerloom} wrote it and this is ${plan.layerloom}`];
  if (former.method !== plan.method) return [`it was a ${former.method}`];

  const differences: string[] = [];
  for (const key of new Set([...Object.keys(former.recipe), ...Object.keys(plan.recipe)]))
    if (differs(({ recipe }) => recipe[key]))
      differences.push(
        `${key} was ${JSON.stringify(former.recipe[key])} and is ${JSON.stringify(plan.recipe[key])}`,
      );
  if (differs(({ inputs }) => inputs.map(placeOf))) differences.push('it had other inputs');
  else
    for (const [index, { files, adapted }] of plan.inputs.entries()) {
      if (adapted !== undefined && differs(({ inputs }) => inputs[index]?.adapted?.config))
        differences.push(`${join(adapted.adapter.path, adapterConfigName)} has changed`);
      for (const [position, file] of files.entries())
        if (differs(({ inputs }) => contentOf(inputs[index]?.files[position])))
          differences.push(`${file.path} has changed`);
    }
  if (differences.length === 0 && differs(({ shards }) => shards))
    differences.push('its shards had another layout');
  if (differences.length === 0 && differs(sideFilesOf)) differences.push('it had other side files');
  return differences;
};
