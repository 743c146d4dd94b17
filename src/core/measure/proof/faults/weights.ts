import { combined, dot, fits, minus, relativeDistance, solveWeights } from '../agreement.js';
import type { Evidence, Sampled } from '../evidence.js';
import { isShortDtype, unitAt } from '../precision.js';
import type { Source } from '../sources.js';
import { commonWeights } from './common-weights.js';
import { counted, type FaultKind, fault, figure, finding, isConstant, median } from './kind.js';

// Wrong weights of sums, found by least squares.

interface Solved {
  readonly sample: Sampled;
  readonly sources: readonly Source[];
  /** Weights of the output, by source. */
  readonly weights: readonly number[];
  /** Expected weights; undefined if the expected tensor is not a weighted sum. */
  readonly wanted: readonly number[] | undefined;
}

const mostSources = 8;

const sumOf = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

const solve = (sample: Sampled): Solved | undefined => {
  const distinct = [...sample.sources].filter(
    ([, values], index, all) =>
      dot(values, values) > 0 && !all.slice(0, index).some(([, former]) => isSame(former, values)),
  );
  const vectors = distinct.map(([, values]) => values);
  if (vectors.length < 2 || vectors.length > mostSources || sample.found.length < 4 * vectors.length)
    return undefined;
  const weightsOf = (values: Float32Array): readonly number[] | undefined => {
    const weights = solveWeights(vectors, values);
    if (weights === undefined) return undefined;
    const terms = vectors.map((vector, index) => vector.map((value) => value * (weights[index] ?? 0)));
    return fits(values, combined(vectors, weights), sample.grain, terms) ? weights : undefined;
  };
  const weights = weightsOf(sample.found);
  const wanted = weightsOf(sample.wanted);
  if (weights === undefined) return undefined;
  const tolerance = sample.grain.some(isShortDtype) ? nearWeights : nearInFloat32;
  if (wanted !== undefined && allNear(weights, wanted, tolerance)) return undefined;
  return { sample, weights, wanted, sources: distinct.map(([source]) => source) };
};

const isSame = (a: Float32Array, b: Float32Array): boolean => a.every((value, at) => value === b[at]);

const solvedIn = (evidence: Evidence, names: readonly string[]): Promise<readonly Solved[]> =>
  evidence.once(`solved ${names.length} ${names[0]}`, async () =>
    // A base with an adapter is not a merge of two models.
    evidence.sources.some(({ isAdapted }) => isAdapted)
      ? []
      : (await evidence.sampled(names)).flatMap((sample) => solve(sample) ?? []),
  );

/** Largest differences of solved weights that roundings explain, in short dtypes and in float32. */
const [nearWeights, nearInFloat32] = [0.02, 1e-4];

const near = (a: number, b: number, tolerance = nearWeights): boolean =>
  Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(b));

const allNear = (a: readonly number[], b: readonly number[], tolerance = nearWeights): boolean =>
  a.length === b.length && a.every((value, at) => near(value, b[at] ?? 0, tolerance));

const worded = (sources: readonly Source[], weights: readonly number[]): string =>
  sources.map(({ name }, index) => `${Number((weights[index] ?? 0).toFixed(3))} ${name}`).join(' + ');

const medians = (found: readonly Solved[], of: (solved: Solved) => readonly number[]): number[] =>
  (found[0]?.sources ?? []).map((_, index) => median(found.map((solved) => of(solved)[index] ?? 0)));

interface WeightKind extends FaultKind {
  readonly isThis: (solved: Solved & { readonly wanted: readonly number[] }) => boolean;
  readonly sentence: (weights: string, wanted: string) => string;
}

const weightKind = (
  kind: string,
  isThis: WeightKind['isThis'],
  sentence: WeightKind['sentence'],
): WeightKind => ({
  ...{ kind, isThis, sentence },
  find: async (evidence, names) => {
    const found = (await solvedIn(evidence, names)).filter(
      (solved) => solved.wanted !== undefined && isThis({ ...solved, wanted: solved.wanted }),
    );
    const [first] = found;
    if (first === undefined) return undefined;
    const alike = found.filter(({ sources }) => sources.length === first.sources.length);
    const weights = worded(
      first.sources,
      medians(alike, (solved) => solved.weights),
    );
    const wanted = worded(
      first.sources,
      medians(alike, (solved) => solved.wanted ?? []),
    );
    const varies = !first.sources.every((_, index) =>
      isConstant(
        alike.map((solved) => solved.weights[index] ?? 0),
        0.05,
      ),
    );
    return finding(
      found.map(({ sample }) => sample.name),
      `${sentence(weights, wanted)}${varies ? ' (medians: the weights differ by tensor)' : ''}`,
      { weights, expectedWeights: wanted, constant: String(!varies) },
    );
  },
});

const isRatio = ({ weights, wanted }: { weights: readonly number[]; wanted: readonly number[] }): boolean => {
  const ratio = sumOf(weights) / sumOf(wanted);
  return (
    Number.isFinite(ratio) &&
    !near(ratio, 1) &&
    allNear(
      weights,
      wanted.map((weight) => weight * ratio),
    )
  );
};

export const notNormalised = weightKind(
  'not_normalised',
  (solved) => near(sumOf(solved.wanted), 1) && !near(sumOf(solved.weights), 1) && isRatio(solved),
  (weights, wanted) =>
    `the weights were not normalised: the output is ${weights}, and the recipe gives ${wanted}`,
);

export const normalised = weightKind(
  'normalised',
  (solved) => near(sumOf(solved.weights), 1) && !near(sumOf(solved.wanted), 1) && isRatio(solved),
  (weights, wanted) =>
    `the weights were normalised: the output is ${weights}, and the recipe gives ${wanted}`,
);

export const weightsExchanged = weightKind(
  'weights_exchanged',
  ({ weights, wanted }) => {
    const order = (values: readonly number[]) => values.toSorted((a, b) => a - b);
    const isEqual = wanted.every((weight) => near(weight, wanted[0] ?? 0));
    return !isEqual && !allNear(weights, wanted) && allNear(order(weights), order(wanted));
  },
  (weights, wanted) => `the weights are exchanged: the output is ${weights}, and the recipe gives ${wanted}`,
);

const baseOf = (sources: readonly Source[]): number => sources.findIndex(({ role }) => role === 'base');

const isOfExperts = ({ sources, weights, wanted }: Solved & { wanted: readonly number[] }): boolean => {
  const base = baseOf(sources);
  return base >= 0 && weights.every((weight, index) => index === base || near(weight, wanted[index] ?? 0));
};

export const baseNotSubtracted = weightKind(
  'base_not_subtracted',
  (solved) => {
    const base = baseOf(solved.sources);
    const [own, wanted] = [solved.weights[base] ?? 0, solved.wanted[base] ?? 0];
    return isOfExperts(solved) && !near(own, wanted) && (near(own, 0) || near(own, 1));
  },
  (weights, wanted) =>
    `task vectors were added without their base: the output is ${weights}, and the recipe gives ${wanted}`,
);

export const wrongLambda = weightKind(
  'wrong_lambda',
  ({ sources, weights, wanted }) => {
    const base = baseOf(sources);
    if (base < 0) return false;
    const without = (values: readonly number[]) => values.filter((_, index) => index !== base);
    const ratio = sumOf(without(weights)) / sumOf(without(wanted));
    return (
      Number.isFinite(ratio) &&
      !near(ratio, 1) &&
      near(sumOf(weights), sumOf(wanted)) &&
      allNear(
        without(weights),
        without(wanted).map((weight) => weight * ratio),
      )
    );
  },
  (weights, wanted) =>
    `the task vectors have another scale (lambda): the output is ${weights}, and the recipe gives ${wanted}`,
);

export const equalWeights = weightKind(
  'weights_ignored',
  ({ weights, wanted }) => {
    const equal = weights.filter((weight) => !near(weight, 0));
    return (
      equal.length > 1 &&
      equal.every((weight) => near(weight, equal[0] ?? 0)) &&
      !wanted.every((weight) => near(weight, wanted[0] ?? 0))
    );
  },
  (weights, wanted) => `the weights were ignored: the output is ${weights}, and the recipe gives ${wanted}`,
);

export const modelLeftOut = weightKind(
  'model_left_out',
  ({ sources, weights, wanted }) =>
    sources.some(
      ({ role }, index) => role !== 'base' && near(weights[index] ?? 0, 0) && !near(wanted[index] ?? 0, 0),
    ),
  (weights, wanted) => `a model was left out: the output is ${weights}, and the recipe gives ${wanted}`,
);

export const wrongWeights = weightKind(
  'wrong_weights',
  () => true,
  (weights, wanted) => `the weights are others: the output is ${weights}, and the recipe gives ${wanted}`,
);

/** Applies a kind of wrong weights to the weights that all wrong tensors have in common. */
const inCommon = ({ kind, isThis, sentence }: WeightKind): FaultKind =>
  fault(kind, async (evidence, names) => {
    const common = await commonWeights(evidence, names);
    const [sample] = common?.samples ?? [];
    if (common === undefined || sample === undefined) return undefined;
    const { samples, sources, weights, wanted, range } = common;
    if (!isThis({ sample, sources, weights, wanted })) return undefined;
    const texts = [worded(sources, weights), worded(sources, wanted)] as const;
    const isWide = range !== undefined && range[1] - range[0] > widest;
    return finding(
      samples.map(({ name }) => name),
      `${sentence(...texts)}${isWide ? ` (${range[0]} to ${range[1]} ${sources[0]?.name ?? ''} give the same)` : ''}`,
      { weights: texts[0], expectedWeights: texts[1] },
    );
  });

/** If weights in a wider range explain the output, the message gives the range. */
const widest = 0.005;

/** Kinds of wrong weights that can explain all differences if experts barely changed. */
export const kindsInCommon: readonly FaultKind[] = [
  ...[notNormalised, normalised, weightsExchanged, baseNotSubtracted, wrongLambda, equalWeights],
  wrongWeights,
].map(inCommon);

/** Maximum number of elements, over all tensors, to solve for weights that differ by less than a rounding. */
const mostTogether = 2 ** 20;

/**
 * Weights are slightly wrong. In single tensors, roundings hide this, so weights are solved over all tensors.
 */
export const driftingWeights = fault('wrong_weights', async (evidence, names) => {
  const tensors = names.filter((name) => evidence.drifts.has(name));
  const samples: Sampled[] = [];
  let elements = 0;
  for (const sample of await evidence.sampled(tensors)) {
    if (sample.sources.size !== evidence.sources.length) continue;
    elements += sample.found.length;
    if (samples.length > 0 && elements > mostTogether) break;
    samples.push(sample);
  }
  if (samples.length === 0 || evidence.sources.some(({ isAdapted }) => isAdapted)) return undefined;
  // Divides elements by their unit in the last place, so that roundings of all elements are equally large.
  const units = samples.map(({ grain: [dtype = 'F32'], wanted, sources }) =>
    wanted.map((value, at) => {
      const terms = [...sources.values()].map((values) => Math.abs(values[at] ?? 0));
      return unitAt(Math.max(Math.abs(value), ...terms), dtype);
    }),
  );
  const together = (of: (sample: Sampled) => Float32Array | undefined) =>
    Float32Array.from(
      samples.flatMap((sample, index) =>
        [...(of(sample) ?? [])].map((value, at) => value / (units[index]?.[at] ?? 1)),
      ),
    );
  const vectors = evidence.sources.map((source) => together(({ sources }) => sources.get(source)));
  const expected = together(({ wanted }) => wanted);
  const [weights, wanted] = [
    solveWeights(
      vectors,
      together(({ found }) => found),
    ),
    solveWeights(vectors, expected),
  ];
  if (weights === undefined || wanted === undefined) return undefined;
  if (relativeDistance(combined(vectors, wanted), expected) > leastOfSum) return undefined;
  const texts = [worded(evidence.sources, weights), worded(evidence.sources, wanted)];
  return {
    tensors,
    figures: { weights: texts[0] ?? '', expectedWeights: texts[1] ?? '', tensors: tensors.length },
    sentence: `the weights are others: over ${counted(tensors.length, 'tensor')} together the output is about ${texts[0]}, and the recipe gives ${texts[1]}, though each element is about a rounding apart`,
  };
});

/** Expected tensors within this relative distance of a weighted sum count as that sum. */
const leastOfSum = 1e-4;

/** Differences point towards a model, or away from zero, but the output is not a weighted sum. */
export const drifting = fault('drift', async ({ drifts }, names) => {
  const tensors = names.filter((name) => drifts.has(name));
  const [name = ''] = tensors;
  const { direction, share } = drifts.get(name) ?? { direction: 'itself', share: 0 };
  if (tensors.length === 0) return undefined;
  const percent = `${figure(100 * Math.abs(share))} %`;
  const where =
    direction === 'itself'
      ? `${percent} too ${share > 0 ? 'large' : 'small'}`
      : `${percent} of the way ${share > 0 ? 'towards' : 'away from'} ${direction.name}`;
  return {
    tensors,
    figures: { share: figure(share), towards: direction === 'itself' ? 'itself' : direction.name },
    sentence: `${counted(tensors.length, 'tensor')} ${tensors.length === 1 ? 'is' : 'are'} ${where}: each element is about a rounding apart, but roundings err to both sides alike`,
  };
});

/** Experts have about the right weights, but are added to another base. */
export const anotherBase = fault('another_base', async (evidence, names) => {
  const matrices = [...evidence.expected.values()].filter(({ shape }) => shape.length > 1);
  const found = (await evidence.sampled(names)).filter((sample) => {
    const sources = [...sample.sources];
    const base = sources.findIndex(([{ role }]) => role === 'base');
    if (base < 0 || sources.length < 2 || sample.shape.length < 2) return false;
    const vectors = sources.map(([, values]) => values);
    const own = solveWeights(vectors, sample.found);
    const wanted = solveWeights(vectors, sample.wanted);
    return (
      own !== undefined &&
      wanted !== undefined &&
      own.every((weight, index) => index === base || Math.abs(weight - (wanted[index] ?? 0)) < 0.15)
    );
  });
  if (found.length < matrices.length * 0.8) return undefined;
  return finding(
    found.map(({ name }) => name),
    `the experts have about their weights in ${counted(found.length, 'tensor')}, and the rest is not the base: another base was used`,
  );
});

/** The output is a weighted sum, but the recipe's merge is not. */
export const linearInstead = fault('linear_instead', async (evidence, names) => {
  const found = (await solvedIn(evidence, names)).filter(({ wanted }) => wanted === undefined);
  const [first] = found;
  if (first === undefined) return undefined;
  const weights = worded(
    first.sources,
    medians(found, (solved) => solved.weights),
  );
  return finding(
    found.map(({ sample }) => sample.name),
    `${counted(found.length, 'tensor')} are a plain weighted sum, ${weights}, and the recipe’s method ${evidence.method} gives none`,
    { weights },
  );
});

const changesOf = ({
  found,
  wanted,
  sources,
}: Sampled): [Float32Array, Float32Array, Float32Array] | undefined => {
  const base = [...sources].find(([{ role }]) => role === 'base')?.[1];
  return base === undefined ? undefined : [minus(found, base), minus(wanted, base), base];
};

export const changeScaled = fault('change_scaled', async (evidence, names) => {
  const found = (await evidence.sampled(names)).flatMap((sample) => {
    const [own, wanted, base] = changesOf(sample) ?? [];
    if (own === undefined || wanted === undefined || base === undefined) return [];
    const length = dot(wanted, wanted);
    const factor = dot(own, wanted) / length;
    if (!(length > 0) || near(factor, 1)) return [];
    return fits(sample.found, combined([base, wanted], [1, factor]), sample.grain, [base])
      ? [{ sample, factor }]
      : [];
  });
  if (found.length === 0) return undefined;
  const factor = figure(median(found.map((one) => one.factor)));
  return finding(
    found.map(({ sample }) => sample.name),
    `the change against the base is ${factor} times the recipe’s (lambda or the sum of weights) in ${counted(found.length, 'tensor')}`,
    { factor },
  );
});

/** The method was applied to the weights themselves, as if the base were 0. */
export const baseTakenForZero = fault('base_not_subtracted', async (evidence, names) => {
  if (evidence.sources.some(({ isAdapted }) => isAdapted)) return undefined;
  const found: string[] = [];
  for (const sample of await evidence.sampled(names)) {
    const { name, slices } = sample;
    if (found.length === 0 && name === names[mostTried]) return undefined;
    const values = await evidence.readWithout(name, 'base', slices);
    if (values !== undefined && evidence.fitsSample(sample, values)) found.push(name);
  }
  return finding(
    found,
    `${counted(found.length, 'tensor')} ${found.length === 1 ? 'is' : 'are'} what ${evidence.method} makes of the weights themselves: the base was not subtracted`,
  );
});

/** Number of tensors to try first; other tensors follow only if one of these fits. */
const mostTried = 6;

export const baseNotAdded = fault('base_not_added', async (evidence, names) => {
  const found = (await evidence.sampled(names)).filter((sample) => {
    const [, wanted, base] = changesOf(sample) ?? [];
    return wanted !== undefined && base !== undefined && fits(sample.found, wanted, sample.grain, [base]);
  });
  return finding(
    found.map(({ name }) => name),
    `${counted(found.length, 'tensor')} are the merged change alone: the base was not added`,
  );
});
