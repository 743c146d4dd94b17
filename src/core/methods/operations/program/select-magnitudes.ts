import { itemAt } from '../../../base/errors/lookup.js';
import { mostCandidates, type Window } from '../../../native/measure.js';
import type { Counted } from './measurer.js';

/** Asks for the magnitude of the `rank`-th largest element, from 1 to n. */
export interface WantedRank {
  readonly rank: number;
}

/** A magnitude as float32 bits, and the numbers of larger and of equal elements. */
export interface OrderStatistic {
  readonly bits: number;
  readonly above: number;
  readonly equal: number;
  /** Numbers of equal elements by block, if counted. */
  readonly ofBlocks?: readonly number[];
}

/**
 * Counts magnitudes in windows.
 *
 * @param indexes of the values, as many as `windows`
 * @param bins length of each histogram, enough for the longest window
 */
export type Count = (
  indexes: readonly number[],
  windows: readonly Window[],
  bins: number,
  sample: boolean,
) => Promise<Counted>;

/** A histogram of this size fits into a core's private cache. */
const mostBins = 2 ** 17;
/** Bins for a sample, whose window covers all magnitudes. */
const sampleBins = 2 ** 16;
/** Largest bits of a magnitude, including NaN, plus 1. */
const end = 2 ** 31;

/** A search for a magnitude in the range from `low` to `high` (exclusive), as float32 bits. */
interface Search {
  low: number;
  high: number;
  window: Window;
  found: OrderStatistic | undefined;
}

export interface Sampled {
  readonly window: Window;
  /**
   * The most likely magnitude as float32 bits, and the share of its elements among the `rank` largest.
   * Undefined if few elements have this magnitude, or more than two magnitudes are nearly as likely.
   */
  readonly guess: { readonly bits: number; readonly share: number } | undefined;
}

/**
 * Finds order statistics of magnitudes exactly in O(n), by radix selection: histograms of float32 bits over
 * ever narrower windows. A sample gives the first window. A wrong guess costs a pass, but does not change the
 * result. Zeros have no bin: elements that no bin counts are zeros.
 *
 * @param wanted a rank per value
 * @param size n, the number of elements per value
 */
export const selectMagnitudes = async (
  wanted: readonly WantedRank[],
  size: number,
  count: Count,
  sample: number,
  sampled?: readonly Sampled[],
): Promise<OrderStatistic[]> => {
  if (wanted.length === 0) return [];
  const bins = binsFor(size);
  const known = sampled ?? (sample > 0 ? await sampleMagnitudes(wanted, size, count, sample) : undefined);
  const start = known?.map(({ window }) => window) ?? wanted.map(() => windowOver(0, end, bins));
  const searches = start.map((window): Search => ({ low: 0, high: end, window, found: undefined }));
  for (;;) {
    const open = [...searches.keys()].filter((index) => itemAt(searches, index).found === undefined);
    if (open.length === 0) return searches.map(({ found }) => found as OrderStatistic);
    const windows = open.map((index) => itemAt(searches, index).window);
    const counted = await count(open, windows, Math.max(...windows.map(binsOf)), false);
    for (const [position, index] of open.entries()) {
      const one = itemAt(searches, index);
      narrow(one, itemAt(wanted, index).rank, size, counted, position);
      one.window = windowOver(one.low, one.high, bins);
    }
  }
};

const binsFor = (size: number): number =>
  Math.min(mostBins, Math.max(2 ** 10, 2 ** Math.ceil(Math.log2(Math.max(1, size / 4)))));

/**
 * Derives windows and guesses from a sample. The window of a rank is a confidence interval of six standard
 * deviations. The most frequent magnitudes in it are candidates. If many elements are equal, as in
 * differences of 16-bit numbers, the statistic is probably a candidate. The guess uses half the interval.
 */
export const sampleMagnitudes = async (
  wanted: readonly WantedRank[],
  size: number,
  count: Count,
  elements: number,
): Promise<Sampled[]> => {
  const bins = binsFor(size);
  const whole = windowOver(0, end, sampleBins);
  const { above, counts } = await count(
    [...wanted.keys()],
    wanted.map(() => whole),
    sampleBins,
    true,
  );
  return wanted.map(({ rank }, index) => {
    const share = rank / size;
    const margin = 6 * Math.sqrt(elements * share * (1 - share)) + elements * 2e-4 + 4;
    const inBins = itemAt(counts, index);
    const rankAt = (away: number) => Math.min(elements, Math.max(1, share * elements + away));
    const binOf = (away: number) => binAt(inBins, itemAt(above, index), rankAt(away)).bin;
    const binsWithin = (away: number) => {
      const [highest, lowest] = [binOf(-away), binOf(away)];
      const range = Array.from({ length: highest - Math.max(0, lowest) + 1 }, (_, i) => highest - i);
      return { highest, lowest, filled: range.filter((bin) => inBins[bin] !== 0) };
    };
    const { highest, lowest, filled } = binsWithin(margin);
    const frequent = filled.sort((a, b) => (inBins[b] ?? 0) - (inBins[a] ?? 0));
    // Equal differences have few significant bits, so their magnitude is a multiple of 2^shift. Bins start at
    // 1, so that such a magnitude is the last in its bin.
    const lastOf = (bin: number) => (bin + 1) * 2 ** whole.shift;
    const window = windowOver(lowest < 0 ? 0 : lastOf(lowest - 1) + 1, lastOf(highest) + 1, bins);
    const near = binsWithin(margin / 2);
    const { bin, larger } = binAt(inBins, itemAt(above, index), rankAt(0));
    const isNear = near.filled.length + (near.lowest < 0 ? 1 : 0) <= 2;
    const isTied = bin < 0 || (inBins[bin] ?? 0) >= margin;
    const guess =
      bin < 0
        ? { bits: 0, share: 0 }
        : { bits: lastOf(bin), share: (rankAt(0) - larger) / Math.max(1, inBins[bin] ?? 0) };
    return {
      window: { ...window, candidates: frequent.slice(0, mostCandidates).map(lastOf) },
      guess: isNear && isTied ? guess : undefined,
    };
  });
};

/** Returns a window over the nonzero magnitudes in [low, high), with bins as narrow as `bins` allows. */
const windowOver = (low: number, high: number, bins: number): Window => {
  const from = Math.max(1, low);
  let shift = 0;
  while (Math.ceil((high - from) / 2 ** shift) > bins) shift += 1;
  return { low: from, last: high - 1, shift, candidates: [] };
};

const binsOf = ({ low, last, shift }: Window): number => Math.floor((last - low) / 2 ** shift) + 1;

/** Returns the bin of the rank-th largest element (−1: below the window), and how many are above the bin. */
const binAt = (
  counts: Counted['counts'][number],
  above: number,
  rank: number,
): { bin: number; larger: number } => {
  let larger = above;
  let bin = counts.length - 1;
  for (; bin >= 0 && larger + (counts[bin] ?? 0) < rank; bin -= 1) larger += counts[bin] ?? 0;
  return { bin, larger };
};

/** Narrows a search to the bin with the statistic, until a single magnitude remains. */
const narrow = (search: Search, rank: number, size: number, counted: Counted, position: number): void => {
  const { low, last, shift, candidates } = search.window;
  const above = itemAt(counted.above, position);
  if (rank <= above) {
    search.low = last + 1;
    return;
  }
  const counts = itemAt(counted.counts, position);
  const { bin, larger } = binAt(counts, above, rank);
  if (bin < 0) {
    // Below a window that starts at 1 there are only zeros.
    if (low <= 1) search.found = { bits: 0, above: larger, equal: size - larger };
    search.high = low;
    return;
  }
  const equal = itemAt(counts, bin);
  const first = low + bin * 2 ** shift;
  // The search ends if the bin holds one magnitude, or all its elements equal a candidate.
  const exact = candidates.findIndex(
    (bits, c) => Math.floor((bits - low) / 2 ** shift) === bin && totalOf(counted, position, c) === equal,
  );
  if (shift === 0 || exact !== -1) {
    const ofBlocks = counted.exact[position]?.[exact];
    search.found = {
      bits: candidates[exact] ?? first,
      above: larger,
      equal,
      ...(ofBlocks === undefined ? {} : { ofBlocks }),
    };
    return;
  }
  search.low = first;
  search.high = Math.min(last + 1, first + 2 ** shift);
};

const totalOf = ({ exact }: Counted, position: number, candidate: number): number =>
  (exact[position]?.[candidate] ?? []).reduce((total, count) => total + count, 0);
