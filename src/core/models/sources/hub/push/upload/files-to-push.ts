import { stat } from 'node:fs/promises';
import { join, relative, resolve, sep } from 'node:path';
import { LayerloomError } from '../../../../../base/errors/errors.js';
import { exists } from '../../../../../base/files/exists.js';
import type { CheckpointIndex } from '../../../../checkpoint/checkpoint.js';
import { indexNames } from '../../../../checkpoint/containers/containers.js';
import { cardName, provenanceName } from '../../../../checkpoint/files/file-names.js';
import { readJsonObject } from '../../../../checkpoint/files/json.js';
import { checkSideFile } from '../../../../checkpoint/files/small-file.js';

export interface FileToPush {
  readonly name: string;
  readonly path: string;
  readonly bytes: number;
}

/**
 * Lists a checkpoint's files for the hub: weights, index, side files and card. Excludes `layerloom.json`,
 * which names local paths; the card has the whole recipe.
 *
 * @throws NOT_A_CHECKPOINT if files are missing; READ_FAILED for a link to a file outside the checkpoint
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

const listedFiles = async (root: string): Promise<string[]> => {
  const path = join(root, provenanceName);
  if (!(await exists(path))) return [];
  const { files } = await readJsonObject(path);
  return Array.isArray(files)
    ? files.filter((name): name is string => typeof name === 'string' && name !== provenanceName)
    : [];
};
