import { pathToFileURL } from 'node:url';

/** Imports a file. Not in the bundle, whose cached code cannot `import()`. */
export const importFile = async (file: string): Promise<void> => {
  await import(pathToFileURL(file).href);
};
