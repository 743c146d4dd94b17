import type { Dtype } from '../../../tensor/dtype.js';
import { combined, dot, minus, solveWeights } from '../agreement.js';
import type { Evidence, Sampled } from '../evidence.js';
import { isShortDtype, rounded, unitAt } from '../precision.js';
import type { Source } from '../sources.js';

// Finds weights that all wrong tensors share. If experts barely changed, a wrong weight shows only in the few elements
// that it rounds to another number: too few to find the weight from one tensor, too many for an edit.

export interface CommonWeights {
  readonly samples: readonly Sampled[];
  readonly sources: readonly Source[];
  readonly weights: readonly number[];
  readonly wanted: readonly number[];
  /** The range of the first source's weight that gives the same numbers; undefined if not determined. */
  readonly range: readonly [least: number, most: number] | undefined;
}

const [mostSources, mostElements] = [4, 2 ** 20];

/** Minimum number of differing elements that determine weights. */
const leastDiffering = 16;

/** Maximum share of the differences that stays unexplained: over all samples, and in each. */
const [mostLeft, mostLeftInOne] = [0.1, 0.25];

/** Maximum difference between an element and what the weights give, in units in the last place. */
const mostUnits = 2;

/** Distance from the recipe's weights below which weights count as the recipe's, rounded. */
const leastApart = 0.004;

/** Largest relative distance between the expected changes and a weighted sum of the inputs. */
const mostOfChange = 0.01;

/** Returns the weights with which the inputs give all of the tensors; undefined if none do. */
export const commonWeights = (
  evidence: Evidence,
  names: readonly string[],
): Promise<CommonWeights | undefined> =>
  evidence.once(`common weights ${names.length} ${names[0]}`, async () => {
    const { sources } = evidence;
    if (sources.length < 2 || sources.length > mostSources || sources.some(({ isAdapted }) => isAdapted))
      return undefined;
    const samples = (await evidence.sampled(names)).filter(
      (sample) => sample.sources.size === sources.length && isShortDtype(dtypeOf(sample)),
    );
    if (samples.length === 0 || samples.length < names.length) return undefined;
    return explaining(samples, sources);
  });

const dtypeOf = ({ grain: [dtype = 'F32'] }: Sampled) => dtype;

const vectorsOf = ({ sources }: Sampled): readonly Float32Array[] => [...sources.values()];

const explaining = (samples: readonly Sampled[], sources: readonly Source[]): CommonWeights | undefined => {
  const some = firstOf(samples);
  const wanted = solved(some, ({ wanted }) => wanted);
  if (wanted === undefined || !samples.every((sample) => isSum(sample, wanted))) return undefined;
  const before = samples.map((sample) => ({ sample, count: differing(sample, sample.wanted) }));
  const all = before.reduce((sum, { count }) => sum + count, 0);
  if (all < leastDiffering) return undefined;
  const { candidates, range } = candidatesOf(some, wanted);
  let best: { left: number; weights: readonly number[]; sum: Arithmetic } | undefined;
  for (const weights of candidates)
    for (const sum of arithmetics) {
      const left = some.reduce((count, sample) => count + differing(sample, sum(sample, weights)), 0);
      if (best === undefined || left < best.left) best = { left, weights, sum };
    }
  if (best === undefined) return undefined;
  const { weights, sum } = best;
  if (weights.every((weight, at) => Math.abs(weight - (wanted[at] ?? 0)) < leastApart)) return undefined;
  // If an input is missing altogether, other kinds of fault explain more.
  if (weights.some((weight, at) => Math.abs(weight) < leastApart && Math.abs(wanted[at] ?? 0) >= leastApart))
    return undefined;
  let left = 0;
  for (const { sample, count } of before) {
    const made = sum(sample, weights);
    const own = differing(sample, made);
    if (own > mostLeftInOne * count + 1 || isFar(sample, made)) return undefined;
    left += own;
  }
  return left <= mostLeft * all ? { samples, sources, weights, wanted, range } : undefined;
};

const firstOf = (samples: readonly Sampled[]): readonly Sampled[] => {
  let elements = 0;
  return samples.filter(({ found }, index) => {
    elements += found.length;
    return index === 0 || elements <= mostElements;
  });
};

const solved = (
  samples: readonly Sampled[],
  of: (sample: Sampled) => Float32Array,
): readonly number[] | undefined => {
  const together = (part: (sample: Sampled) => Float32Array) =>
    Float32Array.from(samples.flatMap((sample) => [...part(sample)]));
  const [first] = samples;
  const vectors = [...(first?.sources.keys() ?? [])].map((_, at) =>
    together((sample) => vectorsOf(sample)[at] ?? new Float32Array()),
  );
  return solveWeights(vectors, together(of));
};

const isSum = (sample: Sampled, weights: readonly number[]): boolean => {
  const [first = new Float32Array()] = vectorsOf(sample);
  const change = minus(sample.wanted, first);
  const apart = minus(combined(vectorsOf(sample), weights), sample.wanted);
  return dot(apart, apart) <= mostOfChange ** 2 * dot(change, change);
};

const differing = (sample: Sampled, made: Float32Array): number => {
  const [{ found }, dtype] = [sample, dtypeOf(sample)];
  let count = 0;
  for (let at = 0; at < found.length; at += 1) if (found[at] !== rounded(made[at] ?? 0, dtype)) count += 1;
  return count;
};

/** True if an element was edited too: it differs by more than roundings. */
const isFar = (sample: Sampled, made: Float32Array): boolean => {
  const dtype = dtypeOf(sample);
  const vectors = vectorsOf(sample);
  return sample.found.some((value, at) => {
    const apart = Math.abs(value - (made[at] ?? 0));
    const size = vectors.reduce((most, vector) => Math.max(most, Math.abs(vector[at] ?? 0)), Math.abs(value));
    return !(apart <= mostUnits * unitAt(size, dtype));
  });
};

/** Computes a weighted sum as some programs do, without the final rounding. */
type Arithmetic = (sample: Sampled, weights: readonly number[]) => Float32Array;

const ofProducts =
  (weightOf: (weight: number, dtype: Dtype) => number): Arithmetic =>
  (sample, weights) => {
    const dtype = dtypeOf(sample);
    const products = vectorsOf(sample).map((vector, index) => {
      const weight = weightOf(weights[index] ?? 0, dtype);
      return vector.map((value) => rounded(value * weight, dtype));
    });
    return combined(
      products,
      products.map(() => 1),
    );
  };

const arithmetics: readonly Arithmetic[] = [
  (sample, weights) => combined(vectorsOf(sample), weights),
  ofProducts((weight) => weight),
  // Also rounds the weights.
  ofProducts(rounded),
];

/**
 * Returns weights to try: a least-squares solution and, for two sources, the weights that round most elements
 * correctly.
 */
const candidatesOf = (
  samples: readonly Sampled[],
  wanted: readonly number[],
): { candidates: readonly (readonly number[])[]; range: CommonWeights['range'] } => {
  const weights = solved(samples, ({ found }) => found) ?? [];
  const candidates = [2, 3, 6].map((digits) => weights.map((weight) => Number(weight.toFixed(digits))));
  if (wanted.length !== 2) return { candidates, range: undefined };
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  const sum = Math.abs(total - 1) < 0.005 ? 1 : Number(total.toFixed(3));
  const range = rangeOf(samples, sum);
  if (range === undefined) return { candidates, range };
  const first = roundest(...range);
  return { candidates: [[first, Number((sum - first).toFixed(4))], ...candidates], range };
};

/** Step between tried weights, their minimum and maximum, and the rounding error of adding up steps. */
const [step, least, most, tiny] = [0.001, -1, 2, 1e-6];

/**
 * Returns the range of the first of two sources' weights for which most elements round to the found numbers.
 */
const rangeOf = (samples: readonly Sampled[], sum: number): readonly [number, number] | undefined => {
  const changes = new Float64Array(Math.round((most - least) / step) + 2);
  for (const sample of samples) {
    const [a = new Float32Array(), b = new Float32Array()] = vectorsOf(sample);
    const dtype = dtypeOf(sample);
    for (const [at, value] of sample.found.entries()) {
      const distance = (a[at] ?? 0) - (b[at] ?? 0);
      if (distance === 0 || !Number.isFinite(distance)) continue;
      const unit = unitAt(value, dtype);
      const [rest, half] = [value - sum * (b[at] ?? 0), unit / 2];
      const ends = [(rest - half) / distance, (rest + half) / distance].sort((x, y) => x - y);
      const [from, to] = ends.map((end) => Math.min(most, Math.max(least, end))) as [number, number];
      // The ends of a range are ties, and ties round to even.
      const inward = (value / unit) % 2 === 0 ? -tiny : tiny;
      const low = Math.ceil((from - least) / step + inward);
      const high = Math.floor((to - least) / step - inward);
      if (low > high) continue;
      changes[low] = (changes[low] ?? 0) + 1;
      changes[high + 1] = (changes[high + 1] ?? 0) - 1;
    }
  }
  let [count, largest] = [0, 0];
  const counts = changes.map((change) => {
    count += change;
    largest = Math.max(largest, count);
    return count;
  });
  if (largest === 0) return undefined;
  const enough = (number: number) => number >= largest * 0.9999;
  const place = (index: number) => Number((least + index * step).toFixed(3));
  return [place(counts.findIndex(enough)), place(counts.findLastIndex(enough))];
};

/** Returns the number with fewest digits in a range, near its middle. */
const roundest = (from: number, to: number): number => {
  const middle = (from + to) / 2;
  for (const digits of [1, 2, 3]) {
    const value = Number(middle.toFixed(digits));
    if (value >= from && value <= to) return value;
  }
  return middle;
};
