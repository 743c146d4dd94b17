import { basename } from 'node:path';

/** Returns a file's name in records: relative to the model's directory. */
export const recordedName = (model: { readonly path: string }, file: { readonly path: string }): string =>
  file.path.startsWith(`${model.path}/`) ? file.path.slice(model.path.length + 1) : basename(file.path);
