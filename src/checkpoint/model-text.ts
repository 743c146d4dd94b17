import { basename } from 'node:path';
import type { CheckpointIndex } from './checkpoint.js';
import { isWeightsName, withoutExtension } from './formats.js';

/**
 * Returns the text by which recipes for others name a model, without paths of this machine: a hub model with
 * its commit, `org/name@COMMIT`; else its name as a folder beside the recipe, `./math-1`.
 */
export const modelText = ({ name, path, hub }: Pick<CheckpointIndex, 'name' | 'path' | 'hub'>): string => {
  if (hub !== undefined && hub.inside === undefined) {
    const text = `${hub.id}@${hub.revision}`;
    return name === hub.id || name.includes('/') ? text : `${name}=${text}`;
  }
  if (!isWeightsName(path)) return `./${name}`;
  const file = basename(path);
  return name === withoutExtension(file) || name.includes('/') ? `./${file}` : `${name}=./${file}`;
};

/**
 * Returns the text by which a recipe of this machine names a model: its path, behind `NAME=` where the path does
 * not say its name.
 */
export const modelAt = (
  { name, path, hub }: Pick<CheckpointIndex, 'name' | 'path' | 'hub'>,
  written: string = path,
): string => {
  const isPlain = name.includes('/') || name === hub?.id || name === withoutExtension(basename(path));
  return isPlain ? written : `${name}=${written}`;
};
