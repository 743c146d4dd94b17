import { LayerloomError } from '../../../base/errors/errors.js';

export const short = (name: string): string => (name.length > 100 ? `${name.slice(0, 100)}…` : name);

/** Maximum length of tensor names, several times the longest in use. */
const longest = 1_000;

/** @throws HEADER_INVALID */
export const checkTensorName = (name: string, file: string): void => {
  const wrong = (reason: string) =>
    new LayerloomError('HEADER_INVALID', { file, tensor: short(name), reason });
  if (name.length > longest) throw wrong(`the name has ${name.length} characters, and may have ${longest}`);
  if (!name.isWellFormed()) throw wrong('the name is not valid Unicode');
};
