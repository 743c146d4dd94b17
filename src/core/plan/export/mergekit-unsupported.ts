import { LayerloomError } from '../../base/errors/errors.js';

/** @throws always: LayerloomError EXPORT_UNSUPPORTED */
export const cannotSay = (what: string, remedy: string): never => {
  throw new LayerloomError('EXPORT_UNSUPPORTED', { what, dialect: 'mergekit', remedy });
};
