import { itemAt } from '../../base/lookup.js';
import type { Consensus, Pruning } from '../operations/consensus.js';
import type { Expression, ModelTensor } from '../operations/expression.js';
import { anyNumber, flag, invalid, numberParameter, oneOf, type SettingInput } from './settings.js';

// Parts of the methods that add task vectors to their base: b + λ · Σ wᵢδ′ᵢ / divisor, where δ′ᵢ is δᵢ = xᵢ −
// b with fewer elements (Ilharco et al. 2023; Yadav et al. 2023; Yu et al. 2023; mergekit's generalised task
// arithmetic).

/** Parameters of every method that adds task vectors. */
export interface TaskVectorParameters {
  /** Weight of a model's task vector. No default: each model needs one, here, of its own, or in `weights`. */
  weight?: SettingInput<number> | undefined;
  /**
   * Divide by the sum of the weights that count at the element. Default: true for `ties` and `della`, false
   * for the others.
   */
  normalize?: SettingInput<boolean> | undefined;
  /** Factor λ of the sum. Default 1. */
  lambda?: SettingInput<number> | undefined;
  /** Taken from mergekit's recipes, and changes nothing. */
  int8Mask?: SettingInput<boolean> | undefined;
}

/** Parameters of the methods that leave elements of task vectors out. */
export interface SparseParameters extends TaskVectorParameters {
  /** Share of each task vector that stays: 0 (nothing) to 1. Default 1, which leaves it whole. */
  density?: SettingInput<number> | undefined;
  /**
   * `true` and `norm` bring what stays back to the task vector's L1 norm (mergekit); `density` divides it by
   * the density (PEFT, DARE's authors). Default: true for `dare_…` and `della…`, false for the others.
   */
  rescale?: SettingInput<Rescale> | undefined;
}

/** Parameters of the methods that leave elements out by chance. */
export interface RandomParameters extends SparseParameters {
  /** Seed of the draws: a whole number, 0 or more. Default 0. */
  seed?: SettingInput<number> | undefined;
}

/** Parameters of the methods that leave outliers out. */
export interface OutlierParameters extends SparseParameters {
  /** Share of largest changes that is left out first: 0 to 1. Default 0.01. */
  gamma?: SettingInput<number> | undefined;
}

/** Parameters of the methods that leave elements out by chance and rank. */
export interface RankParameters extends RandomParameters {
  /** Spread of the probabilities: 0 to 0.5, and density ± epsilon between 0 and 1. Default 0.15. */
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

const seed = numberParameter(
  'a whole number, 0 or more',
  (value) => Number.isSafeInteger(value) && value >= 0,
  0,
);

const gamma = numberParameter('a share from 0 to 1', (value) => value >= 0 && value <= 1, 0.01);

const epsilon = numberParameter('a share from 0 to 0.5', (value) => value >= 0 && value < 0.5, 0.15);

/** Specs of the parameters that models have each of their own. */
export const wholeChanges = { weight };
export const sparseChanges = { weight, density };
export const changesWithoutOutliers = { weight, density, gamma };
export const rankedChanges = { weight, density, epsilon };

/** Specs of the parameters that all models share, with the default of `normalize`. */
export const sumOf = (normalize: boolean) => ({ normalize: flag(normalize), lambda, int8Mask });

/** The same of methods that sparsify, with the default of `rescale`. */
export const sparseSumOf = (normalize: boolean, rescaled: boolean) => ({
  normalize: flag(normalize),
  rescale: rescale(rescaled),
  lambda,
  int8Mask,
});

/** The same of methods that sparsify by chance; they rescale unless told otherwise. */
export const randomSumOf = (normalize: boolean) => ({ ...sparseSumOf(normalize, true), seed });

/** A tensor of a task-vector method: its operands, and the parameters that hold for it. */
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
 * Prunes a model's task vector. `draw` names it among the draws of one seed: the tensor and the model's
 * index.
 */
type Prune<Own, Shared> = (own: Own, shared: Shared, draw: string) => Pruning | null;

/** Leaves nothing of a task vector, as every sparsifier does at density 0 (mergekit). */
const nothing: Pruning = { sparsifier: { by: 'magnitude', density: 0, least: 0 }, rescale: null };

/** Null at density 1, where everything stays. */
const pruned = (sparsifier: Pruning['sparsifier'] & Sparse, { rescale: given }: Rescaled): Pruning | null =>
  sparsifier.density >= 1
    ? null
    : sparsifier.density === 0
      ? nothing
      : { sparsifier, rescale: given === 'density' ? 'density' : given === false ? null : 'norm' };

/** @param least elements that stay at any density */
export const byMagnitude =
  (least: number): Prune<Sparse, Rescaled> =>
  (own, shared) =>
    pruned({ by: 'magnitude', density: own.density, least }, shared);

export const byOutliers: Prune<Sparse & { readonly gamma: number }, Rescaled> = (own, shared) =>
  pruned({ by: 'outliers', density: own.density, gamma: own.gamma }, shared);

export const byChance: Prune<Sparse, Drawn> = (own, shared, draw) =>
  pruned({ by: 'random', density: own.density, seed: `${shared.seed}/${draw}` }, shared);

/** @throws LayerloomError INVALID_PARAMETER where probabilities would not lie between 0 and 1 */
export const byRank: Prune<Sparse & { readonly epsilon: number }, Drawn> = (own, shared, draw) => {
  if (
    own.density > 0 &&
    own.density < 1 &&
    (own.density + own.epsilon >= 1 || own.density - own.epsilon <= 0)
  )
    throw invalid(
      ['epsilon'],
      own.epsilon,
      `a number that keeps density ± epsilon (${own.density} ± ${own.epsilon}) between 0 and 1`,
    );
  const seeded = `${shared.seed}/${draw}`;
  return pruned({ by: 'rank', density: own.density, epsilon: own.epsilon, seed: seeded }, shared);
};

/** The terms of a consensus: one change a model, in their order. */
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
 * The sum over the elements whose sign is that of the weighted sum; where `normalize` is on, over the weights
 * that count there.
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

/**
 * The sum over all elements; where `normalize` is on, over the sum of the weights. A sum of whole task
 * vectors is a linear combination.
 */
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
