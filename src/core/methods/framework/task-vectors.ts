import { itemAt } from '../../base/errors/lookup.js';
import { isCount } from '../../base/is-count.js';
import type { Expression, ModelTensor } from '../operations/expression.js';
import type { Consensus, Pruning } from '../operations/votes/consensus.js';
import {
  anyNumber,
  flag,
  invalidSetting,
  numberParameter,
  oneOf,
  type SettingInput,
} from './declaration/settings.js';

// b + λ·Σ wᵢδ′ᵢ / divisor, where δ′ᵢ is the sparsified task vector δᵢ = xᵢ − b (mergekit's generalised task
// arithmetic).

/** Parameters of all methods that add task vectors. */
export interface TaskVectorParameters {
  /** Weight of a model, given here, in its entry or in `weights`. Required. */
  weight?: SettingInput<number> | undefined;
  /** Divide each element's sum by the weights that it includes. Default: true for `ties` and `della`. */
  normalize?: SettingInput<boolean> | undefined;
  /** Factor λ of the sum. Default 1. */
  lambda?: SettingInput<number> | undefined;
  /** No effect; accepted for mergekit's recipes. */
  int8Mask?: SettingInput<boolean> | undefined;
}

export interface SparseParameters extends TaskVectorParameters {
  /** Share of elements to keep, 0 to 1. Default 1. */
  density?: SettingInput<number> | undefined;
  /** `true`/`norm`: restore the L1 norm; `density`: divide by the density. Default: true for random drops. */
  rescale?: SettingInput<Rescale> | undefined;
}

/** Parameters of methods that drop elements at random. */
export interface RandomParameters extends SparseParameters {
  /** Seed of random numbers: a whole number, 0 or more. Default 0. */
  seed?: SettingInput<number> | undefined;
}

export interface OutlierParameters extends SparseParameters {
  /** Share of the largest changes to drop first, 0 to 1. Default 0.01. */
  gamma?: SettingInput<number> | undefined;
}

/** Parameters of methods whose random choice depends on rank. */
export interface RankParameters extends RandomParameters {
  /** Spread of probabilities, 0 to 0.5; density ± epsilon must be between 0 and 1. Default 0.15. */
  epsilon?: SettingInput<number> | undefined;
}

type Rescale = boolean | 'norm' | 'density';

const weight = anyNumber();

const density = numberParameter('a share from 0 to 1', (value) => value >= 0 && value <= 1, 1, {
  minimum: 0,
  maximum: 1,
});

const lambda = anyNumber(1);

const int8Mask = flag(false);

const rescale = (preset: boolean) =>
  oneOf<Rescale>('true, false, norm or density', [true, false, 'norm', 'density'], preset);

const seed = numberParameter('a whole number, 0 or more', isCount, 0);

const gamma = numberParameter('a share from 0 to 1', (value) => value >= 0 && value <= 1, 0.01);

const epsilon = numberParameter('a share from 0 to 0.5', (value) => value >= 0 && value < 0.5, 0.15);

/** Per-model parameters of methods that use whole task vectors. */
export const wholeChanges = { weight };
export const sparseChanges = { weight, density };
export const changesWithoutOutliers = { weight, density, gamma };
export const rankedChanges = { weight, density, epsilon };

/** Parameters of a sum, with a default for `normalize`. */
export const sumOf = (normalize: boolean) => ({ normalize: flag(normalize), lambda, int8Mask });

/** Parameters of sparsifying methods, with a default for `rescale`. */
export const sparseSumOf = (normalize: boolean, rescaled: boolean) => ({
  normalize: flag(normalize),
  rescale: rescale(rescaled),
  lambda,
  int8Mask,
});

/** Parameters of methods that sparsify at random, and rescale by default. */
export const randomSumOf = (normalize: boolean) => ({ ...sparseSumOf(normalize, true), seed });

interface TaskVectorInput<Own, Shared> {
  readonly tensor: string;
  readonly base: ModelTensor;
  readonly models: readonly ModelTensor[];
  readonly perModel: readonly Own[];
  readonly shared: Shared;
}

interface Sparse {
  readonly density: number;
}

interface Rescaled {
  readonly rescale: Rescale;
}

interface Drawn extends Rescaled {
  readonly seed: number;
}

/**
 * Returns a model's pruning. Random numbers depend on the seed and on `draw`, which names tensor and model.
 */
type Prune<Own, Shared> = (own: Own, shared: Shared, draw: string) => Pruning | null;

/** Drops every element, as all sparsifiers do at density 0 (mergekit). */
const nothing: Pruning = { sparsifier: { by: 'magnitude', density: 0, least: 0 }, rescale: null };

/** Returns a pruning; null at density 1, which keeps every element. */
const pruned = (sparsifier: Pruning['sparsifier'] & Sparse, { rescale: given }: Rescaled): Pruning | null =>
  sparsifier.density >= 1
    ? null
    : sparsifier.density === 0
      ? nothing
      : { sparsifier, rescale: given === 'density' ? 'density' : given === false ? null : 'norm' };

/** @param least minimum number of elements to keep, unless the density is 0 */
export const byMagnitude =
  (least: number): Prune<Sparse, Rescaled> =>
  (own, shared) =>
    pruned({ by: 'magnitude', density: own.density, least }, shared);

export const byOutliers: Prune<Sparse & { readonly gamma: number }, Rescaled> = (own, shared) =>
  pruned({ by: 'outliers', density: own.density, gamma: own.gamma }, shared);

export const byChance: Prune<Sparse, Drawn> = (own, shared, draw) =>
  pruned({ by: 'random', density: own.density, seed: `${shared.seed}/${draw}` }, shared);

/** @throws INVALID_PARAMETER if a probability is not between 0 and 1 */
export const byRank: Prune<Sparse & { readonly epsilon: number }, Drawn> = (own, shared, draw) => {
  if (
    own.density > 0 &&
    own.density < 1 &&
    (own.density + own.epsilon >= 1 || own.density - own.epsilon <= 0)
  )
    throw invalidSetting(
      ['epsilon'],
      own.epsilon,
      `a number that keeps density ± epsilon (${own.density} ± ${own.epsilon}) between 0 and 1`,
    );
  const seeded = `${shared.seed}/${draw}`;
  return pruned({ by: 'rank', density: own.density, epsilon: own.epsilon, seed: seeded }, shared);
};

export const changesOf = <Own extends { readonly weight: number }, Shared>(
  { tensor, models, perModel, shared }: TaskVectorInput<Own, Shared>,
  prune: Prune<Own, Shared> = () => null,
): Consensus<ModelTensor>['terms'] =>
  perModel.map((own, index) => ({
    source: itemAt(models, index),
    weight: own.weight,
    pruning: prune(own, shared, `${tensor}/${index}`),
  }));

interface Combination {
  readonly normalize: boolean;
  readonly lambda: number;
}

/**
 * Sums changes with the sign of the weighted sum, element by element; `normalize` divides by their weights.
 */
export const elected = <Own extends { readonly weight: number }, Shared extends Combination>(
  input: TaskVectorInput<Own, Shared>,
  prune?: Prune<Own, Shared>,
): Expression => ({
  kind: 'consensus',
  base: input.base,
  terms: changesOf(input, prune),
  election: { weighted: true, tie: 'positive' },
  divisor: input.shared.normalize ? 'weights' : 'none',
  scale: input.shared.lambda,
});

/** Sums all changes; `normalize` divides by all weights. Without pruning, this is a linear combination. */
export const summed = <Own extends { readonly weight: number }, Shared extends Combination>(
  input: TaskVectorInput<Own, Shared>,
  prune?: Prune<Own, Shared>,
): Expression => {
  const { base, shared } = input;
  const terms = changesOf(input, prune);
  const total = terms.reduce((sum, term) => sum + term.weight, 0);
  const divisor = shared.normalize && Math.abs(total) >= 1e-8 ? total : 1;
  if (terms.some(({ pruning }) => pruning !== null))
    return {
      kind: 'consensus',
      base,
      terms,
      election: null,
      divisor: 'none',
      scale: shared.lambda / divisor,
    };
  const factors = terms.map((term) => ({
    source: term.source,
    weight: (shared.lambda * term.weight) / divisor,
  }));
  const rest = 1 - factors.reduce((sum, factor) => sum + factor.weight, 0);
  return { kind: 'linear', terms: [{ source: base, weight: rest }, ...factors] };
};
