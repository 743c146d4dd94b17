import { LayerloomError } from './errors.js';

/** Returns the error of a parameter whose value is not what is expected, in words. */
export const invalidParameter = (parameter: string, value: unknown, expected: string): LayerloomError =>
  new LayerloomError('INVALID_PARAMETER', { parameter, value, expected });
