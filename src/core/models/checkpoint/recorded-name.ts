import { basename } from 'node:path';

export const recordedName = (model: { readonly path: string }, file: { readonly path: string }): string =>
  file.path.startsWith(`${model.path}/`) ? file.path.slice(model.path.length + 1) : basename(file.path);
