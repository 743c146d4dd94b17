import { basename } from 'node:path';

/**
 * Returns the name by which records know a file of weights: that in its model's directory, with the folder where it is in
 * one, as weights of modules are.
 */
export const recordedName = (model: { readonly path: string }, file: { readonly path: string }): string =>
  file.path.startsWith(`${model.path}/`) ? file.path.slice(model.path.length + 1) : basename(file.path);
