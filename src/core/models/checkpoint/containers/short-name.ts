import { LayerloomError } from '../../../base/errors.js';

/** A name from the file, for messages. */
export const short = (name: string): string => (name.length > 100 ? `${name.slice(0, 100)}…` : name);

/** Limit on the names of tensors, several times the longest that models have: they are compared and taken apart. */
const longest = 1_000;

/** Checks the name of a tensor. @throws LayerloomError HEADER_INVALID */
export const checkTensorName = (name: string, file: string): void => {
  const wrong = (reason: string) =>
    new LayerloomError('HEADER_INVALID', { file, tensor: short(name), reason });
  if (name.length > longest) throw wrong(`the name has ${name.length} characters, and may have ${longest}`);
  if (!name.isWellFormed()) throw wrong('the name is not valid Unicode');
};
