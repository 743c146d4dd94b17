import { relative, resolve } from 'node:path';

/** Returns the relative path from a folder as recipes write it: starting with `../` or `./`. */
export const wayFrom = (folder: string, path: string): string => {
  const way = relative(resolve(folder), resolve(path));
  return way.startsWith('..') ? way : `./${way}`;
};
