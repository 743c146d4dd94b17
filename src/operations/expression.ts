import type { Rows } from '../tensor/rows.js';
import type { RuleParameters } from './rules.js';

/** A tensor of one of a recipe's models: by its place in `models`, and by the output tensor's name unless it has one of its own. */
export interface ModelTensor {
  readonly model: number;
  readonly tensor?: string;
}

/** Which elements of a task vector stay, and are scaled by `rescale`; the others become 0. */
export type Sparsifier =
  /** The ⌊density · n⌋ (`least` at least) of largest magnitude in the tensor; of equal ones those that come first. */
  | { readonly by: 'magnitude'; readonly density: number; readonly least: number }
  /** Without the ⌊gamma · n⌋ largest, the ⌊density · n⌋ largest of the rest; of equal ones those that come last. */
  | { readonly by: 'outliers'; readonly density: number; readonly gamma: number }
  /** Each by itself, with probability `density`. */
  | { readonly by: 'random'; readonly density: number; readonly seed: string }
  /** Each by itself, with a probability that rises from density − epsilon to density + epsilon with its rank in the row. */
  | { readonly by: 'rank'; readonly density: number; readonly epsilon: number; readonly seed: string }
  /** Those of at least this magnitude: a threshold found over the whole model. */
  | { readonly by: 'threshold'; readonly atLeast: number };

/** What becomes of a task vector before it is weighted. */
export interface Pruning {
  readonly sparsifier: Sparsifier;
  /** `norm`: its L1 norm is restored; `density`: what stays is divided by the density. */
  readonly rescale: 'norm' | 'density' | null;
}

/**
 * What one tensor is, over others (`T`): methods speak of models' tensors, plans of byte ranges. The set is small; what needs a
 * statistic of whole tensors (a threshold, a Gram matrix) says which, and the engine finds it when it comes to the tensor.
 */
export type Formula<T> =
  /** Σ weight · tensor, by the numeric contract. */
  | {
      readonly kind: 'linear';
      readonly terms: readonly { readonly source: T; readonly weight: number }[];
    }
  /** Rows of a matrix where `kept` (a bit for each row, lowest first, in base64) is 1, those of `base` elsewhere, byte for byte. */
  | {
      readonly kind: 'rowSelect';
      readonly source: T;
      readonly base: T;
      readonly rows: Rows;
      readonly kept: string;
    }
  /**
   * origin + Σ cᵢ(xᵢ − origin), or Σ cᵢxᵢ without an origin, with coefficients that a rule (gram.ts) finds from the Gram matrix of the
   * xᵢ − origin: of whole tensors, or of each output row (along the last dimension) or input row (along dimension 0).
   */
  | {
      readonly kind: 'gram';
      readonly rule: string;
      readonly origin: T | null;
      readonly sources: readonly T[];
      readonly of: 'tensor' | Rows;
      readonly parameters: RuleParameters;
    }
  /**
   * base + scale · (Σ weightᵢδᵢ of those that count) / divisor, where δᵢ = sourceᵢ − base, pruned; with an election only those elements count
   * whose sign is that of the sum, or `tie` where the sum is 0.
   */
  | {
      readonly kind: 'consensus';
      readonly base: T;
      readonly terms: readonly {
        readonly source: T;
        readonly weight: number;
        readonly pruning: Pruning | null;
      }[];
      readonly election: { readonly weighted: boolean; readonly tie: 'positive' | 'negative' } | null;
      /** Of what counts: the sum of weights, or how many there are; 0 is taken as 1. */
      readonly divisor: 'none' | 'weights' | 'count';
      readonly scale: number;
    }
  /** SCE: the elements of largest variance (a share of those where it is not 0), weighted by their mean square, those of the elected sign. */
  | {
      readonly kind: 'sce';
      readonly base: T;
      readonly sources: readonly T[];
      readonly share: number;
    }
  /** base + (source − base) · clamp(t / |source − base|, 0, 1). */
  | { readonly kind: 'nearSwap'; readonly base: T; readonly source: T; readonly t: number }
  /** The source's elements whose importance, |source − base| · KL of the row, reaches median + 1.5 · interquartile range; else the base's. */
  | { readonly kind: 'fusion'; readonly base: T; readonly source: T };

/** Task vectors that `consensus` and `sce` combine, at most: as many as the native door lets through. */
export const mostTaskVectors = 64;

/** What a method says of a tensor. */
export type Expression =
  /** The tensor of one model, byte for byte. */
  { readonly kind: 'copy'; readonly source: ModelTensor } | Formula<ModelTensor>;

/** The tensors that a formula is over, in order. */
export const operandsOf = <T>(formula: Formula<T>): readonly T[] => {
  switch (formula.kind) {
    case 'linear':
      return formula.terms.map(({ source }) => source);
    case 'rowSelect':
      return [formula.source, formula.base];
    case 'gram':
      return [...(formula.origin === null ? [] : [formula.origin]), ...formula.sources];
    case 'consensus':
      return [formula.base, ...formula.terms.map(({ source }) => source)];
    case 'sce':
      return [formula.base, ...formula.sources];
    case 'nearSwap':
    case 'fusion':
      return [formula.base, formula.source];
  }
};

/** The same formula over other tensors. */
export const mapOperands = <T, U>(formula: Formula<T>, to: (operand: T) => U): Formula<U> => {
  switch (formula.kind) {
    case 'linear':
      return { ...formula, terms: formula.terms.map((term) => ({ ...term, source: to(term.source) })) };
    case 'rowSelect':
      return { ...formula, source: to(formula.source), base: to(formula.base) };
    case 'gram':
      return {
        ...formula,
        origin: formula.origin === null ? null : to(formula.origin),
        sources: formula.sources.map(to),
      };
    case 'consensus':
      return {
        ...formula,
        base: to(formula.base),
        terms: formula.terms.map((term) => ({ ...term, source: to(term.source) })),
      };
    case 'sce':
      return { ...formula, base: to(formula.base), sources: formula.sources.map(to) };
    case 'nearSwap':
    case 'fusion':
      return { ...formula, base: to(formula.base), source: to(formula.source) };
  }
};
