import { expectMapping } from '../../../../core/methods/recipe/document/fields.js';
import { invalidRecipe } from '../../../../core/methods/recipe/document/invalid.js';
import type { Mapping, MappingEntry } from '../../../../core/methods/recipe/document/tree.js';
import { splitName } from '../../../../core/models/address/name.js';
import { listCheckpoints } from '../../../../core/models/checkpoint/files/run-folder.js';
import { expectText } from './blocks.js';
import type { FurtherReference } from './further-references.js';
import { absoluteModel } from './models.js';
import { checkName, type ModelNames } from './names.js';

export interface Run {
  /** Absolute path of the folder with checkpoints. */
  readonly path: string;
  /** Steps in ascending order. */
  readonly steps: readonly number[];
}

export type Runs = ReadonlyMap<string, Run>;

const checkpointName = (run: string, step: number): string => `${run}-${step}`;

/**
 * Reads `runs` and lists each run's checkpoints.
 *
 * @throws RECIPE_INVALID for a taken name or a folder without checkpoints; READ_FAILED
 */
export const runsOf = async (
  entry: MappingEntry | undefined,
  { directory, names }: { readonly directory: string; readonly names: ModelNames },
): Promise<Runs> => {
  const runs = new Map<string, Run>();
  if (entry === undefined) return runs;
  const expected = "each run's name and folder";
  for (const [name, { key, value }] of expectMapping(entry.value, 'runs', expected).entries) {
    checkName(name, key, 'expert');
    const given = expectText(value, name, 'the folder that holds checkpoint-N folders');
    const path = splitName(await absoluteModel(directory, given.value)).rest;
    const checkpoints = await listCheckpoints(path);
    if (checkpoints.length === 0)
      throw invalidRecipe(given.mark, {
        key: given.value,
        reason: 'contains no checkpoint-N folders',
        expected: 'the folder of a training run',
      });
    names.add(name, 'a run', path, key);
    for (const { step, folder } of checkpoints)
      names.add(checkpointName(name, step), 'a checkpoint', `${path}/${folder}`, key);
    runs.set(name, { path, steps: checkpoints.map(({ step }) => step) });
  }
  return runs;
};

export const checkpointReferences = (runs: Runs): FurtherReference[] =>
  [...runs].flatMap(([name, { path, steps }]) =>
    steps.map((step) => ({
      name: checkpointName(name, step),
      role: 'checkpoint',
      languages: undefined,
      path: `${path}/checkpoint-${step}`,
    })),
  );

export const isOfRuns = ({ entries }: Mapping): boolean => entries.has('run');
