import { type Counted, mostCandidates, type Window } from './measure.js';

/** An order statistic to find: the magnitude of the k-th largest element, k from 1 to n. */
export interface Wanted {
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

/** Bins of a window: what stays in a core's own cache, and no more than a small tensor has use for. */
const binsFor = (size: number): number => {
  const wanted = 2 ** Math.ceil(Math.log2(Math.max(1, size / 4)));
  return Math.min(2 ** 17, Math.max(2 ** 10, wanted));
};
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
  wanted: readonly Wanted[],
  size: number,
  count: Count,
  sample: number,
): Promise<OrderStatistic[]> => {
  if (wanted.length === 0) return [];
  const bins = binsFor(size);
  const widest = windowOver(0, end, bins);
  const start = sample > 0 ? await guessAll(wanted, size, count, sample) : wanted.map(() => widest);
  return await search(wanted, size, start, bins, (indexes, windows) => count(indexes, windows, bins, false));
};

/** Narrows the windows of all that is wanted, in passes that they share. */
const search = async (
  wanted: readonly Wanted[],
  size: number,
  start: readonly Window[],
  bins: number,
  count: (indexes: readonly number[], windows: readonly Window[]) => Promise<Counted>,
): Promise<OrderStatistic[]> => {
  const searches = start.map((window): Search => ({ low: 0, high: end, window, found: undefined }));
  for (;;) {
    const open = [...searches.keys()].filter((index) => searches[index]?.found === undefined);
    if (open.length === 0) return searches.map(({ found }) => found as OrderStatistic);
    const counted = await count(
      open,
      open.map((index) => (searches[index] as Search).window),
    );
    for (const [position, index] of open.entries()) {
      const one = searches[index] as Search;
      narrow(one, wanted[index]?.rank ?? 1, size, counted, position);
      one.window = windowOver(one.low, one.high, bins);
    }
  }
};

/**
 * Windows that most likely hold what is wanted, between the sample's own order statistics a little above and a little below. Where many elements are tied, one
 * of these is most likely the one wanted.
 */
const guessAll = async (
  wanted: readonly Wanted[],
  size: number,
  count: Count,
  elements: number,
): Promise<Window[]> => {
  const bins = binsFor(elements);
  const around = wanted.flatMap(({ rank }) => {
    const share = rank / size;
    const margin = 6 * Math.sqrt(elements * share * (1 - share)) + elements * 2e-4 + 4;
    return Array.from({ length: mostCandidates }, (_, index) => ({
      rank: Math.min(
        elements,
        Math.max(1, Math.round(share * elements + margin * ((2 * index) / (mostCandidates - 1) - 1))),
      ),
    }));
  });
  const start = around.map(() => windowOver(0, end, bins));
  const found = await search(around, elements, start, bins, (indexes, windows) =>
    countOnce(
      indexes.map((index) => Math.floor(index / mostCandidates)),
      windows,
      (values, distinct) => count(values, distinct, bins, true),
    ),
  );
  return wanted.map((_, index) => {
    const candidates = found
      .slice(mostCandidates * index, mostCandidates * (index + 1))
      .map(({ bits }) => bits);
    const window = windowOver(candidates.at(-1) ?? 0, (candidates[0] ?? end) + 1, binsFor(size));
    return { ...window, candidates: [...new Set(candidates)].filter((bits) => bits > 0) };
  });
};

/** Counts windows of a value that several searches share once. */
const countOnce = async (
  values: readonly number[],
  windows: readonly Window[],
  count: (values: readonly number[], windows: readonly Window[]) => Promise<Counted>,
): Promise<Counted> => {
  const keys = values.map((value, index) => `${value} ${windows[index]?.low} ${windows[index]?.shift}`);
  const first = [...new Set(keys)].map((key) => keys.indexOf(key));
  const { above, counts, exact, elements } = await count(
    first.map((index) => values[index] as number),
    first.map((index) => windows[index] as Window),
  );
  const at = keys.map((key) => first.findIndex((index) => keys[index] === key));
  return {
    above: at.map((position) => above[position] as number),
    counts: at.map((position) => counts[position] as Uint32Array),
    exact: at.map((position) => exact[position] as Counted['exact'][number]),
    elements,
  };
};

/** The narrowest bins that cover a range. */
const windowOver = (low: number, high: number, bins: number): Window => {
  const from = Math.max(1, low);
  let shift = 0;
  while (Math.ceil((high - from) / 2 ** shift) > bins) shift += 1;
  return { low: from, shift, candidates: [] };
};

/** Takes in what a window has shown, and chooses the next. */
const narrow = (search: Search, rank: number, size: number, counted: Counted, position: number): void => {
  const { low, shift, candidates } = search.window;
  const above = counted.above[position] ?? 0;
  const counts = counted.counts[position] ?? new Uint32Array();
  const high = Math.min(end, low + counts.length * 2 ** shift);
  if (rank <= above) {
    search.low = high;
  } else {
    let larger = above;
    let bin = counts.length - 1;
    while (bin >= 0 && larger + (counts[bin] ?? 0) < rank) {
      larger += counts[bin] ?? 0;
      bin -= 1;
    }
    if (bin < 0) {
      // Below the window; below 1 there is 0 alone.
      if (low <= 1) {
        search.found = { bits: 0, above: larger, equal: size - larger };
        return;
      }
      search.high = low;
    } else {
      const equal = counts[bin] ?? 0;
      const from = low + bin * 2 ** shift;
      const exact = candidates.findIndex(
        (bits, c) => Math.floor((bits - low) / 2 ** shift) === bin && totalOf(counted, position, c) === equal,
      );
      if (shift === 0 || exact !== -1) {
        const ofBlocks = counted.exact[position]?.[exact];
        search.found = {
          bits: candidates[exact] ?? from,
          above: larger,
          equal,
          ...(ofBlocks === undefined ? {} : { ofBlocks }),
        };
        return;
      }
      search.low = low + bin * 2 ** shift;
      search.high = Math.min(search.high, search.low + 2 ** shift);
    }
  }
};

const totalOf = ({ exact }: Counted, position: number, candidate: number): number =>
  (exact[position]?.[candidate] ?? []).reduce((total, count) => total + count, 0);
