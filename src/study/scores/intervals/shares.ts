export type Interval = readonly [low: number, high: number];

/** Two-sided significance level. */
export const level = 0.05;

const z = 1.959963984540054;

/** Returns Wilson's (1927) 95 % score interval of a share of right answers. */
export const wilson = (right: number, n: number): Interval => {
  const share = right / n;
  const middle = (share + z ** 2 / (2 * n)) / (1 + z ** 2 / n);
  const half = (z * Math.sqrt((share * (1 - share)) / n + z ** 2 / (4 * n ** 2))) / (1 + z ** 2 / n);
  return [Math.max(0, middle - half), Math.min(1, middle + half)];
};

/**
 * Returns the 95 % interval of the difference of two shares on the same problems (Bonett and Price 2012): the
 * normal interval after adding two problems, each solved by one side only.
 */
export const bonettPrice = (onlyA: number, onlyB: number, n: number): Interval => {
  const [a, b] = [(onlyA + 1) / (n + 2), (onlyB + 1) / (n + 2)];
  const half = z * Math.sqrt((a + b - (a - b) ** 2) / (n + 2));
  return [Math.max(-1, a - b - half), Math.min(1, a - b + half)];
};

/** Extends an interval to contain 0. Used if a test does not distinguish the difference from 0. */
export const withZero = ([low, high]: Interval): Interval => [Math.min(0, low), Math.max(0, high)];
