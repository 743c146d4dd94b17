import { LayerloomError } from '../../../base/errors/errors.js';
import type { GuessedBounds } from './bound-to-find.js';
import type { Measurer } from './measurer.js';
import type { Program, Value } from './program.js';

/**
 * Sums over a matrix of its change δ = value − base, and of the change after quantising: δ' = Q(value) −
 * Q(base).
 */
export interface KeptSums {
  /** Σ δ², Σ δδ' and Σ δ'². */
  readonly squares: number;
  readonly products: number;
  readonly keptSquares: number;
}

export interface Lowering {
  readonly tensor: string;
  readonly program: Program;
  readonly measurer: Measurer;
  /** Allows guessing the bounds of the program's only vote. The caller must recompute after wrong guesses. */
  readonly guessed?: GuessedBounds | undefined;
  /** Receives how much of a quantised matrix's change survives; measured only if set. */
  readonly onKept?: ((sums: KeptSums) => void) | undefined;
}

/** Appends x − base, rounded once to float32. */
export const difference = ({ program }: Lowering, x: Value, base: Value): Value =>
  program.linear([x, base], [1, -1]);

/**
 * Sets the dimension of the program's rows.
 *
 * @throws LayerloomError MERGE_UNDEFINED if a nested formula uses another dimension
 */
export const takeRows = (
  { program, tensor }: Lowering,
  dimension: 'first' | 'last',
  method: string,
): void => {
  if (!program.rowsAlong(dimension))
    throw undefinedMerge(tensor, method, 'a recipe in it takes rows along another dimension');
};

/** For a tensor on which a method has no result. */
export const undefinedMerge = (tensor: string, method: string, reason: string): LayerloomError =>
  new LayerloomError('MERGE_UNDEFINED', { tensor, method, reason });
