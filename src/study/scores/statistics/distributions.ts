/**
 * Statistics from libraries. The build replaces the compiled module by a bundle
 * (`scripts/bundle-libraries.mjs`), so exported types must not name the libraries' types.
 */
import stdlibBinomialCdf from '@stdlib/stats-base-dists-binomial-cdf';
import stdlibTCdf from '@stdlib/stats-base-dists-t-cdf';
import stdlibPadjust from '@stdlib/stats-padjust';

export const binomialCdf: (x: number, n: number, p: number) => number = stdlibBinomialCdf;

/** Returns P(t ≤ x) for Student's t. */
export const tCdf: (x: number, df: number) => number = stdlibTCdf;

export const adjustByHolm = (values: readonly number[]): number[] => [...stdlibPadjust([...values], 'holm')];
