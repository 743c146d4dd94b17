import { itemAt } from '../../lookup.js';
import type { Pruning } from '../../operations/consensus.js';
import type { Expression, ModelTensor } from '../../operations/expression.js';
import { anyNumber, flag, invalid, numberParameter, oneOf, type SettingInput, share } from './settings.js';

// Parts of the methods that add task vectors to their base: b + λ · Σ wᵢδ′ᵢ / divisor, where δ′ᵢ is δᵢ = xᵢ − b with fewer elements (Ilharco et
// al. 2023; Yadav et al. 2023; Yu et al. 2023; mergekit's generalised task arithmetic).

/** Parameters of every method that adds task vectors. */
export interface TaskVectorParameters {
  /** Weight of a model's task vector. No default: each model needs one, here, of its own, or in `weights`. */
  weight?: SettingInput<number> | undefined;
  /** Divide by the sum of the weights that count at the element. Default: true for `ties` and `della`, false for the others. */
  normalize?: SettingInput<boolean> | undefined;
  /** Factor λ of the sum. Default 1. */
  lambda?: SettingInput<number> | undefined;
  /** Taken from mergekit's recipes, and changes nothing. */
  int8Mask?: SettingInput<boolean> | undefined;
}

/** Parameters of the methods that leave elements of task vectors out. */
export interface SparseParameters extends TaskVectorParameters {
  /** Share of each task vector that stays: above 0, at most 1. Default 1, which leaves it whole. */
  density?: SettingInput<number> | undefined;
  /**
   * `true` and `norm` bring what stays back to the task vector's L1 norm (mergekit); `density` divides it by the density (PEFT, DARE's authors).
   * Default: true for `dare_…` and `della…`, false for the others.
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

export const weight = anyNumber();

export const density = share(1);

export const lambda = anyNumber(1);

export const int8Mask = flag(false);

export const rescale = (preset: boolean) =>
  oneOf<Rescale>('true, false, norm or density', [true, false, 'norm', 'density'], preset);

export const seed = numberParameter(
  'a whole number, 0 or more',
  (value) => Number.isSafeInteger(value) && value >= 0,
  0,
);

export const gamma = numberParameter('a share from 0 to 1', (value) => value >= 0 && value <= 1, 0.01);

export const epsilon = numberParameter('a share from 0 to 0.5', (value) => value >= 0 && value < 0.5, 0.15);

/** A task vector in a sum. */
interface Change {
  readonly source: ModelTensor;
  readonly weight: number;
  readonly pruning: Pruning | null;
}

interface Combination {
  readonly normalize: boolean;
  readonly lambda: number;
}

/** One change a model, in their order. */
export const changesOf = <Own extends { readonly weight: number }>(
  models: readonly ModelTensor[],
  perModel: readonly Own[],
  pruningOf: (own: Own, model: number) => Pruning | null = () => null,
): Change[] =>
  perModel.map((own, index) => ({
    source: itemAt(models, index),
    weight: own.weight,
    pruning: pruningOf(own, index),
  }));

/** A pruning by `sparsifier`; null at density 1, where everything stays. */
export const pruned = (
  sparsifier: Pruning['sparsifier'] & { readonly density: number },
  given: Rescale,
): Pruning | null =>
  sparsifier.density >= 1
    ? null
    : { sparsifier, rescale: given === 'density' ? 'density' : given === false ? null : 'norm' };

/** The key of the draws: the recipe's seed, the tensor's name and the model's place in the recipe. */
export const seedOf = (given: number, tensor: string, model: number): string => `${given}/${tensor}/${model}`;

/** @throws LayerloomError INVALID_PARAMETER where probabilities would not lie between 0 and 1 */
export const byRank = (
  own: { readonly density: number; readonly epsilon: number },
  given: Rescale,
  seeded: string,
): Pruning | null => {
  if (own.density < 1 && (own.density + own.epsilon >= 1 || own.density - own.epsilon <= 0))
    throw invalid(
      ['epsilon'],
      own.epsilon,
      `a number that keeps density ± epsilon (${own.density} ± ${own.epsilon}) between 0 and 1`,
    );
  return pruned({ by: 'rank', density: own.density, epsilon: own.epsilon, seed: seeded }, given);
};

/** The sum over the elements whose sign is that of the weighted sum; where `normalize` is on, over the weights that count there. */
export const elected = (
  base: ModelTensor,
  terms: readonly Change[],
  { normalize, lambda }: Combination,
): Expression => ({
  kind: 'consensus',
  base,
  terms,
  election: { weighted: true, tie: 'positive' },
  divisor: normalize ? 'weights' : 'none',
  scale: lambda,
});

/** The sum over all elements; where `normalize` is on, over the sum of the weights. A sum of whole task vectors is a linear combination. */
export const summed = (
  base: ModelTensor,
  terms: readonly Change[],
  { normalize, lambda }: Combination,
): Expression => {
  const total = terms.reduce((sum, term) => sum + term.weight, 0);
  const divisor = normalize && Math.abs(total) >= 1e-8 ? total : 1;
  if (terms.some(({ pruning }) => pruning !== null))
    return { kind: 'consensus', base, terms, election: null, divisor: 'none', scale: lambda / divisor };
  const factors = terms.map((term) => ({ source: term.source, weight: (lambda * term.weight) / divisor }));
  const rest = 1 - factors.reduce((sum, factor) => sum + factor.weight, 0);
  return { kind: 'linear', terms: [{ source: base, weight: rest }, ...factors] };
};
