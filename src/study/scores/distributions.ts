/**
 * The functions of statistics that come from libraries. The build replaces the compiled module by its bundle
 * (`scripts/bundle-libraries.mjs`), so that the libraries' 200 packages are not installed; the types here name none of
 * them.
 */
import stdlibBinomialCdf from '@stdlib/stats-base-dists-binomial-cdf';
import stdlibTCdf from '@stdlib/stats-base-dists-t-cdf';
import stdlibPadjust from '@stdlib/stats-padjust';

/** Returns the probability of at most `x` successes in `n` trials, each of probability `p`. */
export const binomialCdf: (x: number, n: number, p: number) => number = stdlibBinomialCdf;

/** Returns the probability that Student's t with `df` degrees of freedom is at most `x`. */
export const tCdf: (x: number, df: number) => number = stdlibTCdf;

/** Returns p-values adjusted by Holm's method for as many comparisons. */
export const adjustByHolm = (values: readonly number[]): number[] => [...stdlibPadjust([...values], 'holm')];
