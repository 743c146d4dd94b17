import { LayerloomError } from '../../base/errors.js';
import type { GuessedBounds } from './bound-to-find.js';
import type { Measurer } from './measurer.js';
import type { Program, Value } from './program.js';

/** Sums over a matrix of its change δ = value − base, and of what is left once both are quantised: δ' = Q(value) − Q(base). */
export interface KeptSums {
  /** Σ δ², Σ δδ' and Σ δ'². */
  readonly squares: number;
  readonly products: number;
  readonly keptSquares: number;
}

/**
 * The context in which an expression is lowered: the program it is appended to, and a measurer for its
 * statistics.
 */
export interface Lowering {
  /** The tensor's name, for errors. */
  readonly tensor: string;
  readonly program: Program;
  readonly measurer: Measurer;
  /**
   * Lets the bounds of a consensus be guessed, which is the one vote of the program. Who sets it corrects what is
   * computed with a wrong guess.
   */
  readonly guessed?: GuessedBounds | undefined;
  /** Takes how much of a change is left in a matrix that is quantised; where it is absent, that is not measured. */
  readonly onKept?: ((sums: KeptSums) => void) | undefined;
}

/** Appends x − base, rounded once to float32. */
export const difference = ({ program }: Lowering, x: Value, base: Value): Value =>
  program.linear([x, base], [1, -1]);

/**
 * Has the program take rows along a dimension.
 *
 * @param method words for the error
 * @throws LayerloomError MERGE_UNDEFINED where a formula in this one takes them along another
 */
export const takeRows = (
  { program, tensor }: Lowering,
  dimension: 'first' | 'last',
  method: string,
): void => {
  if (!program.rowsAlong(dimension))
    throw undefinedMerge(tensor, method, 'a recipe in it takes rows along another dimension');
};

/** Returns the error MERGE_UNDEFINED, for a tensor on which a method's formula has no result. */
export const undefinedMerge = (tensor: string, method: string, reason: string): LayerloomError =>
  new LayerloomError('MERGE_UNDEFINED', { tensor, method, reason });
