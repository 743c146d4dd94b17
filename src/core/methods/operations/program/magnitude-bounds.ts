import { itemAt } from '../../../base/errors/lookup.js';
import type { MagnitudeBound } from '../../../native/job.js';
import type { BoundToFind, GuessedBounds } from './bound-to-find.js';
import type { Lowering } from './lowering.js';
import type { TiedElement } from './measurer.js';
import type { Program, Value } from './program.js';
import { type Count, type OrderStatistic, sampleMagnitudes, selectMagnitudes } from './select-magnitudes.js';

export const nothing: MagnitudeBound = { bits: 0xffff_ffff, cutoff: 0, early: true };
const everything: MagnitudeBound = { bits: 0, cutoff: Number.MAX_SAFE_INTEGER, early: true };

/**
 * Finds bounds with exactly `kept` elements above; the index breaks ties.
 *
 * @param guessed allows guesses, if a sample is clear enough
 */
export const boundsOf = async (
  to: Lowering,
  wanted: readonly BoundToFind[],
  guessed?: GuessedBounds,
): Promise<readonly MagnitudeBound[]> => {
  if (guessed?.bounds !== undefined) return guessed.bounds;
  const { program, measurer } = to;
  const { elements } = program;
  const bounds = wanted.map(({ kept }): MagnitudeBound => (kept <= 0 ? nothing : everything));
  const searched = wanted.flatMap((one, index) =>
    one.kept > 0 && (one.kept < elements || one.threshold) ? [{ ...one, index }] : [],
  );
  const ranks = searched.map(({ kept }) => ({ rank: kept }));
  const count: Count = (indexes, windows, bins, sample) =>
    measurer.histogram(
      program,
      indexes.map((index) => itemAt(searched, index).value),
      windows,
      bins,
      sample,
    );
  const sample = measurer.sampleSize(program);
  const sampled =
    guessed !== undefined && sample > 0 && searched.length > 0
      ? await sampleMagnitudes(ranks, elements, count, sample)
      : undefined;
  if (guessed !== undefined && sampled?.every(({ guess }) => guess !== undefined)) {
    for (const [position, { index, early }] of searched.entries()) {
      const { bits, share } = itemAt(sampled, position).guess ?? { bits: 0, share: 0 };
      bounds[index] = boundAt(program, bits, share, early);
    }
    guessed.bounds = bounds;
    guessed.wanted = searched;
    return bounds;
  }
  const statistics = await selectMagnitudes(ranks, elements, count, sample, sampled);
  await breakTies(to, searched, statistics, bounds);
  return bounds;
};

/**
 * Returns the bound that keeps a share of the nonzero elements, the largest ones; of equal magnitudes, those
 * with lower indexes. The sample estimates the number of zeros until the first pass over the tensor has
 * counted them.
 */
export const boundOfShare = async (to: Lowering, value: Value, share: number): Promise<MagnitudeBound> => {
  const { program, measurer } = to;
  const { elements } = program;
  let [zeros, isCounted] = [0, false];
  const kept = () => Math.floor((elements - zeros) * share);
  const count: Count = async (_, windows, bins, sample) => {
    const counted = await measurer.histogram(program, [value], windows, bins, sample, !sample && !isCounted);
    if (sample) {
      let others = itemAt(counted.above, 0);
      for (const one of itemAt(counted.counts, 0)) others += one;
      zeros = elements * (1 - others / counted.elements);
    } else if (!isCounted) {
      zeros = itemAt(counted.zeros ?? [], 0);
      isCounted = true;
    }
    return counted;
  };
  const wanted = {
    get rank() {
      return Math.max(1, kept());
    },
  };
  const statistics = await selectMagnitudes([wanted], elements, count, measurer.sampleSize(program));
  const bounds = [nothing];
  if (kept() > 0) await breakTies(to, [{ value, kept: kept(), early: true, index: 0 }], statistics, bounds);
  return itemAt(bounds, 0);
};

/** Replaces bounds by exact bounds. Among ties, a cutoff index decides. */
const breakTies = async (
  { program, measurer }: Lowering,
  searched: readonly (BoundToFind & { readonly index: number })[],
  statistics: readonly OrderStatistic[],
  bounds: MagnitudeBound[],
): Promise<void> => {
  const { elements } = program;
  const tied: (TiedElement & { readonly index: number; readonly early: boolean })[] = [];
  for (const [position, { index, kept, early, value, threshold }] of searched.entries()) {
    const { bits, above, equal, ofBlocks } = itemAt(statistics, position);
    const rest = kept - above;
    bounds[index] = { bits, cutoff: early ? elements : 0, early };
    // Zeros need no cutoff: they are 0 whether kept or dropped.
    if (rest < equal && threshold !== true && bits > 0)
      tied.push({ index, value, early, bits, ordinal: early ? rest : equal - rest + 1, ofBlocks });
  }
  if (tied.length === 0) return;
  const cutoffs = await measurer.findTies(program, tied);
  for (const [position, { index, early, bits }] of tied.entries()) {
    const found = itemAt(cutoffs, position);
    bounds[index] = { bits, cutoff: early ? found + 1 : found, early };
  }
};

/**
 * Returns a bound between rows that has a share of one magnitude's elements above it, if these are spread evenly.
 */
const boundAt = (
  { elements, columns }: Program,
  bits: number,
  share: number,
  early: boolean,
): MagnitudeBound => {
  if (bits === 0) return { bits, cutoff: 0, early: true };
  const rows = elements / columns;
  const above = Math.min(rows, Math.round(share * rows)) * columns;
  return { bits, cutoff: early ? above : elements - above, early };
};

/** Returns the largest magnitude; 0 if the tensor is empty or not finite. */
export const largestMagnitude = async (to: Lowering, value: Value): Promise<number> => {
  if (to.program.elements === 0) return 0;
  const bounds = await boundsOf(to, [{ value, kept: 1, early: true, threshold: true }]);
  const [largest = 0] = new Float32Array(Uint32Array.of(itemAt(bounds, 0).bits).buffer);
  return Number.isFinite(largest) ? largest : 0;
};
