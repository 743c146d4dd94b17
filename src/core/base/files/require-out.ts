import { LayerloomError } from '../errors/errors.js';

export const requireOut = (options: { readonly out: string } | undefined): void => {
  if (typeof options?.out !== 'string')
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'out',
      value: options?.out ?? null,
      expected: "the directory to create, in the options: { out: './merged' }",
    });
};
