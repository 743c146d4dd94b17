import { LayerloomError } from './errors.js';

/** Returns an INVALID_PARAMETER error; `expected` is in words. */
export const invalidParameter = (parameter: string, value: unknown, expected: string): LayerloomError =>
  new LayerloomError('INVALID_PARAMETER', { parameter, value, expected });
