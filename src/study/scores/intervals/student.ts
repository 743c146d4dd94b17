import { tCdf } from '../distributions.js';

/** Degrees of freedom from which on Student's t is the normal distribution, to ten digits. */
const most = 1e8;

/** Returns the two-sided p-value of Student's t with so many degrees of freedom, which need not be whole. */
export const tTest = (t: number, df: number): number =>
  Math.min(1, 2 * tCdf(-Math.abs(t), Math.min(df, most)));

/** Returns the one-sided p-value of Student's t: the probability of a larger one. */
export const tAbove = (t: number, df: number): number => tCdf(-t, Math.min(df, most));

const known = new Map<number, number>();

/** Returns the value that |t| is below with a probability of 95 %. */
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

/** Returns the degrees of freedom, between two, at which |t| is below a value with a probability of 95 %. */
export const freedomAt = (t: number, [least, largest]: readonly [number, number]): number =>
  Math.exp(
    bisected([Math.log(least), Math.log(Math.min(largest, most))], (exponent) =>
      tTest(t, Math.exp(exponent)),
    ),
  );

/** Returns where a falling p-value is 5 %. */
const bisected = ([from, to]: readonly [number, number], pOf: (x: number) => number): number => {
  let [low, high] = [from, to];
  while (high - low > 1e-12 * high) {
    const middle = (low + high) / 2;
    if (pOf(middle) > 0.05) low = middle;
    else high = middle;
  }
  return high;
};
