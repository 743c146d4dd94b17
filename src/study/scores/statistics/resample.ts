import { uniformInt } from 'pure-rand/distribution/uniformInt';
import { xoroshiro128plus } from 'pure-rand/generator/xoroshiro128plus';

export const defaultResampling = { resamples: 2000, seed: 20241002 } as const;

export interface Resampling {
  /** Number of resamples; default 2,000, enough for a mean and a variance. */
  readonly resamples?: number | undefined;
  /** Seed; equal seeds give equal figures. */
  readonly seed?: number | undefined;
}

/** Maximum number of draws in the cache: 40 MB of counts. */
const mostKept = 20_000_000;

let kept: { readonly key: string; readonly resamples: readonly Uint16Array[] } | undefined;

/**
 * Yields resamples of `n` problems with replacement, as counts by problem. Equal seeds give equal resamples,
 * so all comparisons of a table share them.
 */
export const resamplesOf = (
  n: number,
  { resamples = defaultResampling.resamples, seed = defaultResampling.seed }: Resampling,
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

/** Returns `times` random orders of 0 to `n` - 1 (Fisher–Yates). */
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
