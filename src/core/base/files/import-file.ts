import { pathToFileURL } from 'node:url';

/** Imports a file. This code is not in the bundle, because cached code cannot call `import()`. */
export const importFile = async (file: string): Promise<void> => {
  await import(pathToFileURL(file).href);
};
