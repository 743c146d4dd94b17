import { basename, isAbsolute, resolve } from 'node:path';
import { relativeTo } from '../recipe/model-path.js';

const hubId = /^[\w.-]+\/[\w.-]+(@[\w./-]+)?$/;

const named = /^(?<name>[^=/]+)=(?<rest>.+)$/s;

/** An absolute path, or `org/name` where no such folder is there. A name before it stays. */
export const modelAt = async (directory: string, model: string): Promise<string> => {
  const path = await relativeTo(directory, model);
  if (isAbsolute(path)) return path;
  const groups = named.exec(model)?.groups;
  if (groups !== undefined) return `${groups['name']}=${await modelAt(directory, groups['rest'] ?? '')}`;
  return hubId.test(path) ? path : resolve(directory, path);
};

/** The parts of `NAME=PATH`; of a path alone, its last part is the name. */
export const nameAndPath = (model: string): { name: string; path: string } => {
  const { name, rest: path = model } = isAbsolute(model) ? {} : (named.exec(model)?.groups ?? {});
  return { name: name ?? (isAbsolute(path) ? basename(path).replace(/\.safetensors$/, '') : path), path };
};
