import { LayerloomError } from '../../../core/base/errors/errors.js';
import { optionName } from '../../../core/base/errors/option-name.js';

/** @throws LayerloomError USAGE */
export const requireOut = ({ out }: { readonly out?: string }): string => {
  if (out === undefined)
    throw new LayerloomError('USAGE', { reason: `required option ${optionName('out')} not specified` });
  return out;
};
