import { basename, isAbsolute, resolve } from 'node:path';
import { withoutExtension } from '../checkpoint/formats.js';
import { isHubId } from '../checkpoint/hub-cache.js';
import { splitName } from '../checkpoint/model-place.js';
import { relativeTo } from '../recipe/model-path.js';

/** An absolute path, or `org/name` where no such folder is there. A name before it stays. */
export const modelAt = async (directory: string, model: string): Promise<string> => {
  const path = await relativeTo(directory, model);
  if (isAbsolute(path)) return path;
  const named = splitName(model);
  if (named !== undefined) return `${named.name}=${await modelAt(directory, named.rest)}`;
  return isHubId(path) ? path : resolve(directory, path);
};

/** The parts of `NAME=PATH`; of a path alone, its last part is the name. */
export const nameAndPath = (model: string): { name: string; path: string } => {
  const named = isAbsolute(model) ? undefined : splitName(model);
  const path = named?.rest ?? model;
  return {
    name: named?.name ?? (isAbsolute(path) ? withoutExtension(basename(path)) : path),
    path,
  };
};
