import { tCdf } from '../statistics/distributions.js';

/** Degrees of freedom from which on Student's t equals the normal distribution to ten digits. */
const most = 1e8;

/** Two-sided p-value; `df` may be fractional. */
export const tTest = (t: number, df: number): number =>
  Math.min(1, 2 * tCdf(-Math.abs(t), Math.min(df, most)));

/** One-sided p-value, P(T > t). */
export const tAbove = (t: number, df: number): number => tCdf(-t, Math.min(df, most));

const known = new Map<number, number>();

export const t95 = (df: number): number => {
  const found = known.get(df) ?? quantile(df);
  if (known.size > 10_000) known.clear();
  known.set(df, found);
  return found;
};

const quantile = (df: number): number => {
  let high = 2;
  while (tTest(high, df) > 0.05) high *= 2;
  return bisected([0, high], (t) => tTest(t, df));
};

/** Returns the degrees of freedom, within the bounds, for which `t` is the 95 % quantile of |t|. */
export const freedomAt = (t: number, [least, largest]: readonly [number, number]): number =>
  Math.exp(
    bisected([Math.log(least), Math.log(Math.min(largest, most))], (exponent) =>
      tTest(t, Math.exp(exponent)),
    ),
  );

const bisected = ([from, to]: readonly [number, number], pOf: (x: number) => number): number => {
  let [low, high] = [from, to];
  while (high - low > 1e-12 * high) {
    const middle = (low + high) / 2;
    if (pOf(middle) > 0.05) low = middle;
    else high = middle;
  }
  return high;
};
