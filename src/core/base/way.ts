import { relative, resolve } from 'node:path';

/** Returns the way from a folder to a path as recipes write it: one that does not go up begins with `./`. */
export const wayFrom = (folder: string, path: string): string => {
  const way = relative(resolve(folder), resolve(path));
  return way.startsWith('..') ? way : `./${way}`;
};
