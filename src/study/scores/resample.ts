import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

/** Number of resamples, and the seed, unless others are asked for. */
export const defaultResampling = { resamples: 2000, seed: 20241002 } as const;

export interface Resampling {
  /** Number of resamples of what is chosen again. Default 2,000: they give a mean and a variance. */
  readonly resamples?: number | undefined;
  /** The same seed gives the same figures. */
  readonly seed?: number | undefined;
}

/** Largest number of draws that are kept for the next comparison of as many problems: 40 MB of counts. */
const mostKept = 20_000_000;

let kept: { readonly key: string; readonly resamples: readonly Uint16Array[] } | undefined;

/**
 * Yields resamples of `n` problems, drawn with replacement: how often each problem is taken. The same seed
 * yields the same resamples, so that all comparisons of a table share them.
 */
export const resamplesOf = (
  n: number,
  { resamples, seed }: { readonly resamples: number; readonly seed: number },
): Iterable<Uint16Array> => {
  if (n * resamples > mostKept) return drawn(n, resamples, seed);
  const key = `${n} ${resamples} ${seed}`;
  if (kept?.key !== key) kept = { key, resamples: [...drawn(n, resamples, seed)] };
  return kept.resamples;
};

function* drawn(n: number, resamples: number, seed: number): Generator<Uint16Array> {
  const random = xoroshiro128plus(seed);
  for (let resample = 0; resample < resamples; resample += 1) {
    const counts = new Uint16Array(n);
    for (let draw = 0; draw < n; draw += 1) {
      const at = uniformInt(random, 0, n - 1);
      counts[at] = (counts[at] as number) + 1;
    }
    yield counts;
  }
}

/** Returns the numbers from 0 to `n` - 1 in a random order (Fisher and Yates's shuffle), for each of `times` draws. */
export const shuffles = (n: number, times: number, seed: number): number[][] => {
  const random = xoroshiro128plus(seed);
  return Array.from({ length: times }, () => {
    const order = Array.from({ length: n }, (_, at) => at);
    for (let at = n - 1; at > 0; at -= 1) {
      const other = uniformInt(random, 0, at);
      [order[at], order[other]] = [order[other] as number, order[at] as number];
    }
    return order;
  });
};
