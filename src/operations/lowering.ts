import { LayerloomError } from '../errors.js';
import type { Measurer } from './measurer.js';
import type { Program, Value } from './program.js';

/** A tensor's program while its expression is lowered into it, and the measurer of statistics on the way. */
export interface Lowering {
  /** The tensor's name, for errors. */
  readonly tensor: string;
  readonly program: Program;
  readonly measurer: Measurer;
}

/** x − base in float32, the difference rounded once. */
export const difference = ({ program }: Lowering, x: Value, base: Value): Value =>
  program.linear([x, base], [1, -1]);

/** The error of a tensor for which a method's formula has no result. */
export const undefinedMerge = (tensor: string, method: string, reason: string): LayerloomError =>
  new LayerloomError('MERGE_UNDEFINED', { tensor, method, reason });
