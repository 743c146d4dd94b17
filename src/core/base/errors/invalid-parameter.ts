import { LayerloomError } from './errors.js';

export const invalidParameter = (parameter: string, value: unknown, expected: string): LayerloomError =>
  new LayerloomError('INVALID_PARAMETER', { parameter, value, expected });
