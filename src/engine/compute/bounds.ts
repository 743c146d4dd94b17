import { type Measurer, sampleSize } from './measure.js';
import type { Program, Value } from './program.js';
import { selectMagnitudes } from './select.js';

/** What a tensor's expression is written into, and what finds the statistics that it needs on the way. */
export interface Lowering {
  readonly tensor: string;
  readonly program: Program;
  readonly measurer: Measurer;
}

/**
 * A place in the order of a tensor's elements by magnitude, largest first. Elements of exactly its magnitude are above it where their index is
 * before `cutoff` (`early`), or from it on (not `early`).
 */
export interface MagnitudeBound {
  readonly bits: number;
  readonly cutoff: number;
  readonly early: boolean;
}

/** No element is above this, every element above that. */
export const nothing: MagnitudeBound = { bits: 0xffff_ffff, cutoff: 0, early: true };
export const everything: MagnitudeBound = { bits: 0, cutoff: Number.MAX_SAFE_INTEGER, early: true };

export interface WantedBound {
  readonly value: Value;
  /** How many elements are to be above. */
  readonly kept: number;
  /** Of equal magnitudes those that come first are above, or those that come last. */
  readonly early: boolean;
  /** Only the magnitude is wanted: all that equal it are above. */
  readonly threshold?: boolean;
}

/** Bounds with exactly so many elements above each; ties are broken by index. */
export const boundsOf = async (
  { program, measurer }: Lowering,
  wanted: readonly WantedBound[],
): Promise<MagnitudeBound[]> => {
  const { elements } = program;
  const bounds = wanted.map(({ kept }): MagnitudeBound => (kept <= 0 ? nothing : everything));
  const searched = wanted.flatMap((one, index) =>
    one.kept > 0 && (one.kept < elements || one.threshold) ? [{ ...one, index }] : [],
  );
  const statistics = await selectMagnitudes(
    searched.map(({ kept }) => ({ rank: kept })),
    elements,
    (indexes, windows, bins, sample) =>
      measurer.histogram(
        program,
        indexes.map((index) => (searched[index] as WantedBound).value),
        windows,
        bins,
        sample,
      ),
    sampleSize(program),
  );
  const tied: {
    index: number;
    value: Value;
    early: boolean;
    bits: number;
    ordinal: number;
    ofBlocks: readonly number[] | undefined;
  }[] = [];
  for (const [position, { index, kept, early, value, threshold }] of searched.entries()) {
    const { bits, above, equal, ofBlocks } = statistics[position] as (typeof statistics)[number];
    const rest = kept - above;
    bounds[index] = { bits, cutoff: early ? elements : 0, early };
    // A change of 0 is the same above and below.
    if (rest < equal && threshold !== true && bits > 0)
      tied.push({ index, value, early, bits, ordinal: early ? rest : equal - rest + 1, ofBlocks });
  }
  if (tied.length === 0) return bounds;
  const cutoffs = await measurer.findTies(
    program,
    tied.map(({ value }) => value),
    tied,
  );
  for (const [position, { index, early, bits }] of tied.entries()) {
    const found = cutoffs[position] ?? 0;
    bounds[index] = { bits, cutoff: early ? found + 1 : found, early };
  }
  return bounds;
};
