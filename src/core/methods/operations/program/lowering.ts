import { LayerloomError } from '../../../base/errors/errors.js';
import type { GuessedBounds } from './bound-to-find.js';
import type { Measurer } from './measurer.js';
import type { Program, Value } from './program.js';

/** Sums over a matrix of its change δ = value − base, and of the quantised change δ' = Q(value) − Q(base). */
export interface KeptSums {
  /** Σ δ², Σ δδ' and Σ δ'², in this order. */
  readonly squares: number;
  readonly products: number;
  readonly keptSquares: number;
}

export interface Lowering {
  readonly tensor: string;
  readonly program: Program;
  readonly measurer: Measurer;
  /** Allows guesses for the program's only vote. After wrong guesses, the caller must recompute. */
  readonly guessed?: GuessedBounds | undefined;
  /** Receives how much of a quantised matrix's change survives; without it, this is not measured. */
  readonly onKept?: ((sums: KeptSums) => void) | undefined;
}

/** Appends x − base, rounded once to float32. */
export const difference = ({ program }: Lowering, x: Value, base: Value): Value =>
  program.linear([x, base], [1, -1]);

/** @throws MERGE_UNDEFINED if a nested formula uses another dimension */
export const takeRows = (
  { program, tensor }: Lowering,
  dimension: 'first' | 'last',
  method: string,
): void => {
  if (!program.rowsAlong(dimension))
    throw undefinedMerge(tensor, method, 'a recipe in it takes rows along another dimension');
};

export const undefinedMerge = (tensor: string, method: string, reason: string): LayerloomError =>
  new LayerloomError('MERGE_UNDEFINED', { tensor, method, reason });
