import { basename, isAbsolute } from 'node:path';
import { parseAddress, printAddress, resolveAllPaths } from '../../../../core/models/address/address.js';
import { splitName } from '../../../../core/models/address/name.js';
import { withoutExtension } from '../../../../core/models/checkpoint/containers/containers.js';

/** Makes paths absolute; keeps remote names and a prefix `NAME=`. */
export const absoluteModel = async (directory: string, model: string): Promise<string> =>
  printAddress(resolveAllPaths(await parseAddress(model, directory), directory));

/** Returns NAME of `NAME=PATH`, else the last part of a path, else the text. */
export const nameOfModel = (model: string): string => {
  const { name, rest } = splitName(model);
  return name ?? (isAbsolute(rest) ? withoutExtension(basename(rest)) : rest);
};
