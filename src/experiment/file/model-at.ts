import { basename, isAbsolute, resolve } from 'node:path';
import { replaceSides } from '../../checkpoint/adapter-text.js';
import { withoutExtension } from '../../checkpoint/formats/formats.js';
import { isHubId } from '../../checkpoint/hub-cache.js';
import { splitName } from '../../checkpoint/model-place.js';
import { relativeTo } from '../../recipe/model-path.js';

/** Returns a model's absolute path, or `org/name` if there is no such folder. A prefix `NAME=` is kept. */
export const modelAt = async (directory: string, model: string): Promise<string> => {
  const adapted = await replaceSides(model, directory, (side) => modelAt(directory, side));
  if (adapted !== undefined) return adapted;
  const path = await relativeTo(directory, model);
  if (isAbsolute(path)) return path;
  const named = splitName(model);
  if (named !== undefined) return `${named.name}=${await modelAt(directory, named.rest)}`;
  return isHubId(path) ? path : resolve(directory, path);
};

/** Splits `NAME=PATH`. For a path alone, the name is its last part. */
export const nameAndPath = (model: string): { name: string; path: string } => {
  const named = isAbsolute(model) ? undefined : splitName(model);
  const path = named?.rest ?? model;
  return {
    name: named?.name ?? (isAbsolute(path) ? withoutExtension(basename(path)) : path),
    path,
  };
};
