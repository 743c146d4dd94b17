import { stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { LayerloomError } from '../../../../base/errors.js';
import { exists } from '../../../../base/exists.js';
import type { CheckpointIndex } from '../../../checkpoint/checkpoint.js';
import { indexNames } from '../../../checkpoint/containers/containers.js';
import { cardName, provenanceName } from '../../../checkpoint/file-names.js';
import { readJsonObject } from '../../../checkpoint/json.js';
import { checkSideFile } from '../../../checkpoint/small-file.js';

/** A file of a checkpoint that goes to the hub. */
export interface FileToPush {
  /** In the repository. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  readonly bytes: number;
}

/**
 * Lists the files of a checkpoint that belong on the hub: weights, their index, side files and the card.
 * `layerloom.json` does not: it names paths of this machine, and the card has the whole recipe.
 *
 * @throws LayerloomError NOT_A_CHECKPOINT for one that lacks files; READ_FAILED for a link to a file that is none of the
 *   checkpoint's
 */
export const filesToPush = async (
  directory: string,
  { files, sideFiles, carried }: CheckpointIndex,
): Promise<FileToPush[]> => {
  const root = resolve(directory);
  const beside = [...indexNames, cardName];
  const there = await Promise.all(beside.map((name) => exists(join(root, name))));
  const small = [
    ...beside.filter((_, index) => there[index]),
    ...sideFiles.filter((name) => !carried?.has(name)),
  ];
  for (const name of small) await checkSideFile(join(root, name));
  const names = [...files.map((file) => relative(root, file.path).split(sep).join('/')), ...small];
  const missing = (await listedFiles(root)).filter((name) => !names.includes(name));
  if (missing.length > 0)
    throw new LayerloomError('NOT_A_CHECKPOINT', {
      path: root,
      reason: `lacks ${missing.join(', ')}, which its ${provenanceName} lists; merge it again`,
    });
  return await Promise.all(
    names.map(async (name) => ({ name, path: join(root, name), bytes: (await stat(join(root, name))).size })),
  );
};

/** Returns the files that a merge wrote, by its `layerloom.json`; none for other checkpoints. */
const listedFiles = async (root: string): Promise<string[]> => {
  const path = join(root, provenanceName);
  if (!(await exists(path))) return [];
  const { files } = await readJsonObject(path);
  return Array.isArray(files)
    ? files.filter((name): name is string => typeof name === 'string' && name !== provenanceName)
    : [];
};
