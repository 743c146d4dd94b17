/** Bounds that hold the truth in 95 of 100 studies. */
export type Interval = readonly [low: number, high: number];

/** Level of every claim, two-sided: of comparisons of equals at most this share is called better or worse. */
export const level = 0.05;

const z = 1.959963984540054;

/** Returns the 95 % interval of a share of right answers of one model by Wilson's score method (1927). */
export const wilson = (right: number, n: number): Interval => {
  const share = right / n;
  const middle = (share + z ** 2 / (2 * n)) / (1 + z ** 2 / n);
  const half = (z * Math.sqrt((share * (1 - share)) / n + z ** 2 / (4 * n ** 2))) / (1 + z ** 2 / n);
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
};

/**
 * Returns the 95 % interval of the difference of two shares on the same problems by Bonett and Price (2012): the normal
 * one with one problem more that only the first solves, and one that only the second does.
 */
export const bonettPrice = (onlyA: number, onlyB: number, n: number): Interval => {
  const [a, b] = [(onlyA + 1) / (n + 2), (onlyB + 1) / (n + 2)];
  const half = z * Math.sqrt((a + b - (a - b) ** 2) / (n + 2));
  return [Math.max(-1, a - b - half), Math.min(1, a - b + half)];
};

/** Returns the interval that holds 0 too, of a difference whose test does not exclude it. */
export const withZero = ([low, high]: Interval): Interval => [Math.min(0, low), Math.max(0, high)];
