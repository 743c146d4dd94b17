import { resolve } from 'node:path';
import { exists, splitName } from '../checkpoint/model-place.js';

/**
 * A model's path that begins in a folder, as an absolute one: `./x` and `../x` always, others where they exist there, since `org/name` may be
 * one of the hub's. A name before it (`NAME=./x`) stays.
 */
export const relativeTo = async (folder: string, model: string): Promise<string> => {
  const path = resolve(folder, model);
  if (/^\.\.?(\/|$)/.test(model) || (await exists(path))) return path;
  const named = splitName(model);
  return named === undefined ? model : `${named.name}=${await relativeTo(folder, named.rest)}`;
};
