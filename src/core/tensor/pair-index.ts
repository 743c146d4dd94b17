/** Returns the index of a pair i ≤ j in the order (0, 0), (0, 1), …, (0, count − 1), (1, 1), …. */
export const pairIndex = (i: number, j: number, count: number): number =>
  i * count - (i * (i - 1)) / 2 + (j - i);
