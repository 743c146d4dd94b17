/**
 * Returns the two-sided p-value of McNemar's exact test, for `a` problems that only one model solves and `b` problems
 * that only the other solves: the probability of a split at least as uneven if both models are equally good.
 */
export const signTest = (a: number, b: number): number => {
  const [least, n] = [Math.min(a, b), a + b];
  // Adds logarithms, because 2^-n underflows float64 from 1075 problems on.
  let logTerm = -n * Math.LN2;
  let sum = Math.exp(logTerm);
  for (let k = 1; k <= least; k++) {
    logTerm += Math.log((n - k + 1) / k);
    sum += Math.exp(logTerm);
  }
  return Math.min(1, 2 * sum);
};
