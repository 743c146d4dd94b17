/**
 * Returns the two-sided p-value of McNemar's exact test: how likely two equally good models split the
 * problems that only one of them solves at least as unevenly as `a` to `b`.
 */
export const signTest = (a: number, b: number): number => {
  const [least, n] = [Math.min(a, b), a + b];
  // In logarithms, because 2^-n underflows float64 from 1075 problems on.
  let logTerm = -n * Math.LN2;
  let sum = Math.exp(logTerm);
  for (let k = 1; k <= least; k++) {
    logTerm += Math.log((n - k + 1) / k);
    sum += Math.exp(logTerm);
  }
  return Math.min(1, 2 * sum);
};
