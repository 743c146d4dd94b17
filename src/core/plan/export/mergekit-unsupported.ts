import { LayerloomError } from '../../base/errors/errors.js';

/** @throws EXPORT_UNSUPPORTED always */
export const cannotSay = (what: string, remedy: string): never => {
  throw new LayerloomError('EXPORT_UNSUPPORTED', { what, dialect: 'mergekit', remedy });
};
