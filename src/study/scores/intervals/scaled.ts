import { sumOf, sumsOf } from '../statistics/mean.js';

/**
 * Numbers by problem with a common divisor: `values[k] / divisor`. Sums of 0 and 1 over models are whole
 * numbers and add up exactly; means would not.
 */
export interface Scaled {
  readonly values: Float64Array;
  readonly divisor: number;
}

export const meanOfModels = (scores: readonly Float64Array[]): Scaled => ({
  values: sumsOf(scores),
  divisor: scores.length,
});

export const less = (a: Scaled, b: Scaled): Scaled => {
  const divisor = commonMultiple(a.divisor, b.divisor);
  const [timesA, timesB] = [divisor / a.divisor, divisor / b.divisor];
  const values = a.values.map((value, problem) => timesA * value - timesB * (b.values[problem] as number));
  return { values, divisor };
};

/** Returns the mean of the parts, equally weighted, in any order. */
export const meanOfScaled = (parts: readonly Scaled[]): Scaled => {
  const common = parts.map(({ divisor }) => divisor).reduce(commonMultiple);
  const values = sumsOf(parts.map((of) => of.values.map((value) => (common / of.divisor) * value)));
  return { values, divisor: common * parts.length };
};

export const meanOverProblems = ({ values, divisor }: Scaled): number =>
  sumOf(values) / (divisor * values.length);

const commonMultiple = (a: number, b: number): number => {
  let [divisor, rest] = [a, b];
  while (rest > 0) [divisor, rest] = [rest, divisor % rest];
  return (a / divisor) * b;
};
