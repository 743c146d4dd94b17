import { relative, resolve } from 'node:path';

/** Returns a relative path as recipes write it: from `../` or `./`. */
export const wayFrom = (folder: string, path: string): string => {
  const way = relative(resolve(folder), resolve(path));
  return way.startsWith('..') ? way : `./${way}`;
};
