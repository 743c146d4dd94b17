import { resolve } from 'node:path';
import { replaceSides } from '../checkpoint/adapter-text.js';
import { exists, splitName } from '../checkpoint/model-place.js';

/**
 * Resolves a model's path against a folder. `./x` and `../x` always become absolute, other relative paths
 * only if they exist there, since `org/name` may be a model of the hub. A prefix `NAME=` is kept; of
 * `BASE+ADAPTER` both sides are resolved.
 */
export const relativeTo = async (folder: string, model: string): Promise<string> => {
  const adapted = await replaceSides(model, folder, (side) => relativeTo(folder, side));
  if (adapted !== undefined) return adapted;
  const path = resolve(folder, model);
  if (/^\.\.?(\/|$)/.test(model) || (await exists(path))) return path;
  const named = splitName(model);
  return named === undefined ? model : `${named.name}=${await relativeTo(folder, named.rest)}`;
};
