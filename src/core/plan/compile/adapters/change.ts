import { LayerloomError } from '../../../base/errors.js';
import { itemAt } from '../../../base/lookup.js';
import type { LowRankPair } from '../../../models/adapters/adapter.js';
import type { TensorReference } from '../../../tensor/reference.js';
import { type StoredTensor, storedTensor } from '../../../tensor/stored-tensor.js';
import { computedTensor } from '../../operands/computed.js';
import { lowRankTensor } from '../../operands/low-rank.js';
import type { Operand, PlannedExpression } from '../../plan.js';

/** A matrix of an adapter: its bytes, and its shape. */
export interface Factor {
  readonly source: StoredTensor;
  readonly rows: number;
  readonly columns: number;
}

/** weight · scale · B · A, of one pair of an adapter. */
export interface Term {
  readonly weight: number;
  readonly a: Factor;
  readonly b: Factor;
  readonly rank: number;
  readonly alpha: number;
  /** s: alpha / rank, or alpha / √rank where `rsLora`. */
  readonly scale: number;
  readonly rsLora: boolean;
}

/**
 * The change of one parameter of the base: a sum of products, or a formula over such. It is closed under weighted sums, so that averages of
 * averages need no product to be written: their terms are those of all.
 */
export interface Change {
  /** Names of A and B in an adapter's file. */
  readonly names: LowRankPair['names'];
  readonly transposed: boolean;
  /** The number of experts whose factors each pair has, one behind the other in A and side by side in B; without, one matrix. */
  readonly experts?: number;
  readonly terms: readonly Term[];
  /** The formula of the change where it is no sum of products, as of TIES: over them, in float32. `terms` are what it is made of. */
  readonly formula?: PlannedExpression;
  /** The path of the adapter that it is from, or of the first of them, for errors. */
  readonly path: string;
}

const factorOf = (input: number, reference: TensorReference): Factor => ({
  source: storedTensor(input, reference),
  rows: itemAt(reference.shape, 0),
  columns: itemAt(reference.shape, 1),
});

/** Returns a pair of an adapter as the change that it makes. */
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
 * Returns Σ weight · change: the terms of all, those of one pair added up. Terms without effect are left out; undefined if
 * none is left.
 *
 * @param parameter for errors
 * @throws LayerloomError SHAPE_MISMATCH, ADAPTERS_DIFFER
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

/** Returns a change as a matrix, [rows of B, columns of A], in float32. */
export const operandOfChange = ({ terms, formula }: Change): Operand =>
  computedTensor('F32', formula ?? { kind: 'linear', terms: terms.map(productOf) });

/** A matrix of zeros, of the shape of a change. */
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

/** Changes are added where they are of one shape, and stored alike. */
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
