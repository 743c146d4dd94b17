import { itemAt } from '../base/lookup.js';
import type { MagnitudeBound } from '../native/job.js';
import type { Lowering } from './lowering.js';
import type { TiedElement } from './measurer.js';
import type { Value } from './program.js';
import { selectMagnitudes } from './select-magnitudes.js';

/** A bound that no element is above. */
export const nothing: MagnitudeBound = { bits: 0xffff_ffff, cutoff: 0, early: true };
/** A bound that every element is above. */
const everything: MagnitudeBound = { bits: 0, cutoff: Number.MAX_SAFE_INTEGER, early: true };

/** A bound to find among the magnitudes of a value. */
export interface BoundToFind {
  readonly value: Value;
  /** The number of elements above it. */
  readonly kept: number;
  /**
   * Tie-break among elements of the bound's magnitude: true puts those with lower indexes above, false those
   * with higher ones.
   */
  readonly early: boolean;
  /**
   * True to search the magnitude only: the bound is not a cutoff between tied elements, all of which are
   * above it.
   */
  readonly threshold?: boolean;
}

/**
 * Finds bounds with exactly `kept` elements above each; ties are broken by index. All are searched in the
 * same passes.
 */
export const boundsOf = async (
  { program, measurer }: Lowering,
  wanted: readonly BoundToFind[],
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
        indexes.map((index) => itemAt(searched, index).value),
        windows,
        bins,
        sample,
      ),
    measurer.sampleSize(program),
  );
  const tied: (TiedElement & { readonly index: number; readonly early: boolean })[] = [];
  for (const [position, { index, kept, early, value, threshold }] of searched.entries()) {
    const { bits, above, equal, ofBlocks } = itemAt(statistics, position);
    const rest = kept - above;
    bounds[index] = { bits, cutoff: early ? elements : 0, early };
    // A magnitude of 0 needs no tie-break: a zero kept and a zero dropped are both 0.
    if (rest < equal && threshold !== true && bits > 0)
      tied.push({ index, value, early, bits, ordinal: early ? rest : equal - rest + 1, ofBlocks });
  }
  if (tied.length === 0) return bounds;
  const cutoffs = await measurer.findTies(program, tied);
  for (const [position, { index, early, bits }] of tied.entries()) {
    const found = itemAt(cutoffs, position);
    bounds[index] = { bits, cutoff: early ? found + 1 : found, early };
  }
  return bounds;
};

/** Returns the largest magnitude of a value; 0 for one without elements, and where it is no finite number. */
export const largestMagnitude = async (to: Lowering, value: Value): Promise<number> => {
  if (to.program.elements === 0) return 0;
  const bounds = await boundsOf(to, [{ value, kept: 1, early: true, threshold: true }]);
  const [largest = 0] = new Float32Array(Uint32Array.of(itemAt(bounds, 0).bits).buffer);
  return Number.isFinite(largest) ? largest : 0;
};
