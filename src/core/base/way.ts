import { relative, resolve } from 'node:path';

/** Matches the temporary folder of models that a caller has in memory; it is removed after the call. */
const scratch = /\/\.layerloom-scratch-[0-9a-f]{32}\//;

/** Replaces a temporary path by `./NAME`. */
export const keptPath = (path: string): string => {
  const [before = '', name] = path.split(scratch, 2);
  return name === undefined ? path : `${before.slice(0, before.lastIndexOf('=') + 1)}./${name}`;
};

export const keptValue = (_key: string, value: unknown): unknown =>
  typeof value === 'string' ? keptPath(value) : value;

/** Returns a relative path as recipes write it, beginning with `../` or `./`. */
export const wayFrom = (folder: string, path: string): string => {
  if (keptPath(path) !== path) return keptPath(path);
  const way = relative(resolve(folder), resolve(path));
  return way === '..' || way.startsWith('../') ? way : `./${way}`;
};
