import { LayerloomError } from '../../../base/errors/errors.js';
import { itemAt } from '../../../base/errors/lookup.js';
import type { LowRankPair } from '../../../models/adapters/adapter.js';
import type { TensorReference } from '../../../tensor/reference.js';
import { type StoredTensor, storedTensor } from '../../../tensor/stored-tensor.js';
import { computedTensor } from '../../operands/computed.js';
import { lowRankTensor } from '../../operands/low-rank.js';
import type { Operand, PlannedExpression } from '../../plan.js';

export interface Factor {
  readonly source: StoredTensor;
  readonly rows: number;
  readonly columns: number;
}

/** A product weight·scale·B·A. */
export interface Term {
  readonly weight: number;
  readonly a: Factor;
  readonly b: Factor;
  readonly rank: number;
  readonly alpha: number;
  /** alpha/rank; with `rsLora`, alpha/√rank. */
  readonly scale: number;
  readonly rsLora: boolean;
}

/** A change to a base parameter: a sum of products, or a formula over such sums. */
export interface Change {
  readonly names: LowRankPair['names'];
  readonly transposed: boolean;
  /** Number of experts, stacked along rows in A and columns in B. */
  readonly experts?: number;
  readonly terms: readonly Term[];
  /** A float32 formula over `terms`, for changes that are not sums of products, as in TIES. */
  readonly formula?: PlannedExpression;
  readonly path: string;
}

const factorOf = (input: number, reference: TensorReference): Factor => ({
  source: storedTensor(input, reference),
  rows: itemAt(reference.shape, 0),
  columns: itemAt(reference.shape, 1),
});

export const changeOf = (
  { a, b, names, rank, alpha, scale, transposed, experts }: LowRankPair,
  { input, rsLora, path }: { readonly input: number; readonly rsLora: boolean; readonly path: string },
): Change => ({
  names,
  transposed,
  ...(experts === undefined ? {} : { experts: experts.count }),
  terms: [{ weight: 1, a: factorOf(input, a), b: factorOf(input, b), rank, alpha, scale, rsLora }],
  path,
});

/**
 * Returns Σ weight·change, joining terms of the same pair and dropping weights of 0; undefined if nothing
 * remains.
 *
 * @throws SHAPE_MISMATCH, ADAPTERS_DIFFER
 */
export const sumOfChanges = (
  weighted: readonly { readonly weight: number; readonly change: Change }[],
  parameter: string,
): Change | undefined => {
  const terms = new Map<string, Term>();
  const [first] = weighted;
  if (first === undefined) return undefined;
  for (const { weight, change } of weighted) {
    checkSame(first.change, change, parameter);
    for (const term of change.terms) {
      const { input, file, begin } = term.a.source;
      const key = `${input} ${file} ${begin}`;
      const known = terms.get(key);
      terms.set(key, { ...term, weight: (known?.weight ?? 0) + weight * term.weight });
    }
  }
  const effective = [...terms.values()].filter((term) => term.weight * term.scale !== 0);
  if (effective.length === 0) return undefined;
  const { formula: _formula, ...sum } = { ...first.change, terms: effective };
  if (weighted.every(({ change }) => change.formula === undefined)) return sum;
  const summed = weighted.map(({ weight, change }) => ({ source: operandOfChange(change), weight }));
  return { ...sum, formula: { kind: 'linear', terms: summed } };
};

/** Returns a change as a float32 matrix [rows of B, columns of A]. */
export const operandOfChange = ({ terms, formula }: Change): Operand =>
  computedTensor('F32', formula ?? { kind: 'linear', terms: terms.map(productOf) });

export const noChange = ({ terms }: Change): Operand =>
  computedTensor('F32', { kind: 'linear', terms: [{ ...productOf(itemAt(terms, 0)), weight: 0 }] });

const productOf = ({ weight, scale, rank, a, b }: Term) => ({
  source: lowRankTensor({ rank, transposed: false, a: a.source, b: b.source }),
  weight: weight * scale,
});

const shapeOf = ({ terms, experts }: Change): string => {
  const { a, b } = itemAt(terms, 0);
  return `[${[...(experts === undefined ? [] : [experts]), b.rows, a.columns].join(', ')}]`;
};

const checkSame = (first: Change, other: Change, parameter: string): void => {
  const pair = { first: first.path, other: other.path };
  if (shapeOf(first) !== shapeOf(other))
    throw new LayerloomError('SHAPE_MISMATCH', {
      ...pair,
      tensors: [`the change of ${parameter} ${shapeOf(other)} against ${shapeOf(first)}`],
    });
  if (first.transposed !== other.transposed)
    throw new LayerloomError('ADAPTERS_DIFFER', { ...pair, what: `fan_in_fan_out (${parameter})` });
  if (first.names.a !== other.names.a)
    throw new LayerloomError('ADAPTERS_DIFFER', {
      ...pair,
      what: `the names of factors of ${parameter} (${other.names.a}, ${first.names.a})`,
    });
};
