import { itemAt } from '../../base/errors/lookup.js';
import { operandsOf } from '../../methods/operations/index.js';
import type { BoundToFind, GuessedBounds } from '../../methods/operations/program/bound-to-find.js';
import type { Program } from '../../methods/operations/program/program.js';
import { mayGuessBounds } from '../../methods/operations/votes/consensus.js';
import type { MagnitudeBound } from '../../native/job.js';
import { newTally, type Tally, talliedElements, tallyAt } from '../../native/tally.js';
import { isStored } from '../../plan/operands.js';
import { type Extent, joinExtents } from '../../tensor/extent.js';
import { elementsOf } from '../../tensor/reference.js';
import type { BlockMeasurer } from './measures/measure.js';
import type { Slab, Task } from './tasks.js';

// Finds thresholds and computes values in one pass. A sample gives guesses of the bounds. While a slab is
// computed with them, its votes count the elements near each bound, which shows how many are on the wrong
// side. Wrong elements are recomputed; even with ties they are adjacent.

export interface GuessedSlab<S> extends GuessedBounds {
  bounds: readonly MagnitudeBound[] | undefined;
  wanted: GuessedBounds['wanted'];
  readonly tally: BigInt64Array;
  /** Elements not yet computed. */
  left: number;
  /**
   * Tasks with pieces of this slab. A task's bytes are final once all slabs in `unsettled` have exact bounds.
   */
  readonly tasks: { readonly task: Task<S>; readonly unsettled: Set<GuessedSlab<S>> }[];
  isSettled: boolean;
  /** The program for the values in `wanted`. */
  lowered: { readonly program: Program; readonly measurer: BlockMeasurer } | undefined;
}

/** Returns a slab whose bounds may be guessed; undefined unless bfloat16, where differences often tie. */
export const guessedSlab = <S>({ outputs: [output, more] }: Slab<S>): GuessedSlab<S> | undefined => {
  if (output === undefined || more !== undefined) return undefined;
  const { expression, dtype, shape } = output.tensor;
  if (expression.kind !== 'consensus' || dtype !== 'BF16' || !mayGuessBounds(expression)) return undefined;
  if (!operandsOf(expression).every((operand) => isStored(operand) && operand.dtype === 'BF16'))
    return undefined;
  return {
    bounds: undefined,
    wanted: [],
    tally: newTally(expression.terms.length),
    left: elementsOf(shape),
    tasks: [],
    isSettled: false,
    lowered: undefined,
  };
};

/**
 * Finds exact bounds once all elements are computed.
 *
 * @returns ranges with all elements on the wrong side; undefined, like the bounds, if unknown or costly to find
 */
export const correctBounds = async <S>(slab: GuessedSlab<S>): Promise<Extent[] | undefined> => {
  const { lowered, bounds = [] } = slab;
  slab.bounds = undefined;
  if (lowered === undefined || talliedElements(slab.tally) !== lowered.program.elements) return undefined;
  const corrected = [...bounds];
  const ranges: Extent[] = [];
  const found = await Promise.all(
    slab.wanted.map((wanted) => {
      if (wanted.tallied === undefined || wanted.threshold) return undefined;
      const tally = tallyAt(slab.tally, wanted.tallied);
      return correctBound(lowered, itemAt(bounds, wanted.index), wanted, tally);
    }),
  );
  for (const [position, { index }] of slab.wanted.entries()) {
    const one = found[position];
    if (one === undefined) return undefined;
    corrected[index] = one.bound;
    ranges.push(one.changed);
  }
  slab.bounds = corrected;
  return joinExtents(ranges);
};

/** Finds the bound above which exactly `kept` elements lie, and the elements between it and the guess. */
const correctBound = async (
  { program, measurer }: NonNullable<GuessedSlab<unknown>['lowered']>,
  bound: MagnitudeBound,
  { value, kept, early }: BoundToFind,
  { above, least, most }: Tally,
): Promise<{ readonly bound: MagnitudeBound; readonly changed: Extent } | undefined> => {
  const { elements } = program;
  const isLow = above > kept;
  // Nearest magnitude on the wrong side of the guess.
  const bits = isLow ? least : most;
  if (above === kept || bits === 0) return { bound, changed: { begin: 0, end: 0 } };
  const isBefore = isLow === early;
  const among =
    bits !== bound.bits
      ? { begin: 0, end: elements }
      : isBefore
        ? { begin: 0, end: bound.cutoff }
        : { begin: bound.cutoff, end: elements };
  const tied = { value, bits, ordinal: Math.abs(kept - above) };
  const found = await measurer.findAmong(program, tied, among, !isBefore);
  if (found === undefined) return undefined;
  return {
    bound: { bits, early, cutoff: isBefore ? found : found + 1 },
    changed: isBefore ? { begin: found, end: among.end } : { begin: among.begin, end: found + 1 },
  };
};
