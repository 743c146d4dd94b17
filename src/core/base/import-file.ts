import { pathToFileURL } from 'node:url';

/** Imports a module by its path. Apart from the bundle, whose compiled code cannot `import()`. */
export const importFile = async (file: string): Promise<void> => {
  await import(pathToFileURL(file).href);
};
