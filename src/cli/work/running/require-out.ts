import { LayerloomError } from '../../../core/base/errors/errors.js';
import { optionName } from '../../../core/base/errors/option-name.js';
import { isForShell } from '../../options/spellings.js';

/** @throws USAGE */
export const requireOut = ({ out }: { readonly out?: string }): string => {
  if (out === undefined)
    throw new LayerloomError('USAGE', {
      reason: isForShell()
        ? '--out is missing: name the directory to create, as in -o ./out'
        : `required option ${optionName('out')} not specified`,
    });
  return out;
};
