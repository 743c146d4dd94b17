import { mostCandidates, type Window } from '../native/measure.js';
import type { Counted } from './measurer.js';

/** An order statistic to find: the magnitude of the k-th largest element, k from 1 to n. */
export interface WantedRank {
  readonly rank: number;
}

/** A magnitude of float32, as bits; how many elements are larger, and how many have it. */
export interface OrderStatistic {
  readonly bits: number;
  readonly above: number;
  readonly equal: number;
  /** How many of these each block has, where a pass has shown it on the way. */
  readonly ofBlocks?: readonly number[];
}

/**
 * Counts magnitudes of some of the values in a window each.
 *
 * @param indexes of the values
 */
export type Count = (
  indexes: readonly number[],
  windows: readonly Window[],
  bins: number,
  sample: boolean,
) => Promise<Counted>;

/** Bins of a window at most: what stays in a core's own cache. */
const mostBins = 2 ** 17;
/** Of a sample's window, which is over all magnitudes. */
const sampleBins = 2 ** 16;
/** Above every magnitude, those of NaN too. */
const end = 2 ** 31;

/** What is known of where a statistic lies: in [low, high). */
interface Search {
  low: number;
  high: number;
  window: Window;
  found: OrderStatistic | undefined;
}

/**
 * Finds order statistics of magnitudes exactly, in O(n) without sorting or copying: by histograms of float32's bits over ever narrower windows.
 * The first window is guessed from a sample where that pays; a guess that misses costs a pass, never the result. Zeros need no
 * bin: they are what remains.
 *
 * @param wanted one for each value
 * @param size n
 * @param sample how many elements a sample has; 0 for none
 */
export const selectMagnitudes = async (
  wanted: readonly WantedRank[],
  size: number,
  count: Count,
  sample: number,
): Promise<OrderStatistic[]> => {
  if (wanted.length === 0) return [];
  // A small tensor has no use for many.
  const bins = Math.min(mostBins, Math.max(2 ** 10, 2 ** Math.ceil(Math.log2(Math.max(1, size / 4)))));
  const start =
    sample > 0
      ? await guessAll(wanted, size, bins, count, sample)
      : wanted.map(() => windowOver(0, end, bins));
  const searches = start.map((window): Search => ({ low: 0, high: end, window, found: undefined }));
  for (;;) {
    const open = [...searches.keys()].filter((index) => searches[index]?.found === undefined);
    if (open.length === 0) return searches.map(({ found }) => found as OrderStatistic);
    const windows = open.map((index) => (searches[index] as Search).window);
    const counted = await count(open, windows, Math.max(...windows.map(binsOf)), false);
    for (const [position, index] of open.entries()) {
      const one = searches[index] as Search;
      narrow(one, wanted[index]?.rank ?? 1, size, counted, position);
      one.window = windowOver(one.low, one.high, bins);
    }
  }
};

/**
 * Windows that most likely hold what is wanted, between places in the sample's order a little above and a little below. Where many elements are tied, as
 * differences of 16-bit numbers are, it is most likely one of the magnitudes that are the most frequent there.
 */
const guessAll = async (
  wanted: readonly WantedRank[],
  size: number,
  bins: number,
  count: Count,
  elements: number,
): Promise<Window[]> => {
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
    const inBins = counts[index] ?? new Uint32Array();
    const binOf = (away: number) =>
      binAt(inBins, above[index] ?? 0, Math.min(elements, Math.max(1, share * elements + away))).bin;
    const [highest, lowest] = [binOf(-margin), binOf(margin)];
    const range = Array.from({ length: highest - Math.max(0, lowest) + 1 }, (_, i) => highest - i);
    const frequent = range
      .filter((bin) => inBins[bin] !== 0)
      .sort((a, b) => (inBins[b] ?? 0) - (inBins[a] ?? 0));
    // The last magnitude of a bin is the one with the fewest bits: bins begin at 1.
    const lastOf = (bin: number) => (bin + 1) * 2 ** whole.shift;
    const window = windowOver(lowest < 0 ? 0 : lastOf(lowest - 1) + 1, lastOf(highest) + 1, bins);
    return { ...window, candidates: frequent.slice(0, mostCandidates).map(lastOf) };
  });
};

/** The narrowest bins that cover the magnitudes of [low, high), but for 0. */
const windowOver = (low: number, high: number, bins: number): Window => {
  const from = Math.max(1, low);
  let shift = 0;
  while (Math.ceil((high - from) / 2 ** shift) > bins) shift += 1;
  return { low: from, last: high - 1, shift, candidates: [] };
};

const binsOf = ({ low, last, shift }: Window): number => Math.floor((last - low) / 2 ** shift) + 1;

/** The bin with the rank-th largest, −1 where that is below all; and how many are above the bin. */
const binAt = (counts: Uint32Array, above: number, rank: number): { bin: number; larger: number } => {
  let larger = above;
  let bin = counts.length - 1;
  for (; bin >= 0 && larger + (counts[bin] ?? 0) < rank; bin -= 1) larger += counts[bin] ?? 0;
  return { bin, larger };
};

/** Takes in what a window has shown. */
const narrow = (search: Search, rank: number, size: number, counted: Counted, position: number): void => {
  const { low, last, shift, candidates } = search.window;
  const above = counted.above[position] ?? 0;
  if (rank <= above) {
    search.low = last + 1;
    return;
  }
  const counts = counted.counts[position] ?? new Uint32Array();
  const { bin, larger } = binAt(counts, above, rank);
  if (bin < 0) {
    // Below the window; below 1 there is 0 alone.
    if (low <= 1) search.found = { bits: 0, above: larger, equal: size - larger };
    search.high = low;
    return;
  }
  const equal = counts[bin] ?? 0;
  const first = low + bin * 2 ** shift;
  // A bin of one magnitude, or whose elements are all of one.
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
