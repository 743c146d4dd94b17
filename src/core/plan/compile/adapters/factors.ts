import { LayerloomError } from '../../../base/errors.js';
import { itemAt } from '../../../base/lookup.js';
import { optionName } from '../../../base/option-name.js';
import { invalid } from '../../../methods/framework/settings.js';
import type { Factor as FactorFormula } from '../../../methods/operations/factor.js';
import { type FactorDtype, factorDtypes } from '../../../native/factorise.js';
import { type ArithmeticDtype, bitsOf, type Dtype, torchName } from '../../../tensor/dtype.js';
import type { Shape } from '../../../tensor/reference.js';
import { columnTensor } from '../../operands/columns.js';
import { computedTensor } from '../../operands/computed.js';
import { gatheredTensor } from '../../operands/gathered.js';
import { lowRankTensor } from '../../operands/low-rank.js';
import type { Operand, PlannedExpression } from '../../plan.js';
import type { Change, Factor, Term } from './change.js';

/** A matrix of the output, planned. */
export interface PlannedFactor {
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly expression: PlannedExpression;
}

/** The factors of a change as one pair, and what a configuration says of them. */
export interface Factors {
  readonly a: PlannedFactor;
  readonly b: PlannedFactor;
  readonly rank: number;
  readonly alpha: number;
}

/** A matrix of a sum, as the formula of factors has it. */
type SummedMatrix = FactorFormula<Operand>['terms'][number];

/** How factors are to be planned. */
export interface FactorOptions {
  /** The output's `use_rslora`. */
  readonly rsLora: boolean;
  /** The recipe's, for both matrices. */
  readonly dtype: ArithmeticDtype | undefined;
  /** The rank of sums, at most: those of a higher one are truncated. A change by a formula has this rank. */
  readonly rank: number | undefined;
  /** True where the factors are not written: a change by a formula then needs no rank. */
  readonly isNested: boolean;
  /** The recipe's method, for errors. */
  readonly method: string;
}

/**
 * Plans a change as one pair. One of a single adapter with weight 1 is copied byte for byte, with its rank and its alpha.
 * The factors of a sum are those of its terms, concatenated: A = [A₁; A₂; …], B = [f₁B₁, f₂B₂, …] with the scale c, where
 * c · fᵢ = weightᵢ · scaleᵢ. Where all of these are equal every f is 1, and A and B keep their bits.
 * A sum of a higher rank than is wanted is truncated instead (`truncated`); copies keep theirs. So is a change by a
 * formula, which has the full rank of its matrix.
 *
 * @param parameter of the base
 */
export const factorsOf = (
  parameter: string,
  { terms, formula, experts = 1 }: Change,
  { rsLora, dtype, rank: given, isNested, method }: FactorOptions,
): Factors => {
  const most = given ?? (isNested && formula !== undefined ? Number.POSITIVE_INFINITY : undefined);
  if (formula !== undefined) {
    const why =
      experts > 1
        ? 'is of fused experts, whose factors are one pair for all'
        : most === undefined
          ? `is no sum of products: ${optionName('rank', 'R')} gives the adapter of rank R that is nearest to it`
          : undefined;
    if (most === undefined || why !== undefined)
      throw new LayerloomError('NO_ADAPTER_FORM', { method, reason: `${parameter} ${why}` });
    const { a, b } = itemAt(terms, 0);
    const source = computedTensor('F32', formula);
    const whole = [{ source, coefficient: 1, weight: 1 }];
    return truncated(parameter, terms, Math.min(most, b.rows, a.columns), { rsLora, dtype }, whole);
  }
  const rank = terms.reduce((total, term) => total + term.rank, 0);
  const [first] = terms as [Term];
  const isOne = terms.length === 1;
  if (most !== undefined && !(isOne && first.weight === 1)) {
    const wanted = Math.min(most, first.b.rows, first.a.columns);
    if (wanted < rank && experts > 1)
      throw invalid(['rank'], most, `${rank} or more where factors of experts are merged (${parameter})`);
    if (wanted < rank) return truncated(parameter, terms, wanted, { rsLora, dtype });
  }
  const coefficients = terms.map(({ weight, scale }) => weight * scale);
  const scale = itemAt(coefficients, 0);
  const factors = coefficients.map((coefficient) => coefficient / scale);
  const weights = terms.map(({ weight }) => weight);
  const planned = (
    along: 'rows' | 'columns',
    matrices: readonly Factor[],
    by: readonly number[],
  ): PlannedFactor => {
    const output = dtype ?? dtypeFor(matrices, by);
    const { rows, columns } = itemAt(matrices, 0);
    const ranks = rank * experts;
    const shape = along === 'rows' ? [ranks, columns] : [rows, ranks];
    const [only] = matrices as [Factor];
    if (isOne && first.weight === 1) return { dtype: output, shape, expression: copyOf(only, output) };
    // In B the experts of a rank stand side by side; in A each has its ranks for itself, and so its parts of the sum.
    const [groups, width] = along === 'rows' && !isOne ? [experts, 1] : [1, experts];
    let at = 0;
    const parts = Array.from({ length: groups }, (_, group) => group).flatMap((group) =>
      matrices.map((matrix, index) => {
        const count = itemAt(terms, index).rank * width;
        const source = isOne
          ? matrix.source
          : placed(along, matrix, { at, from: group * count, count, of: ranks });
        at += count;
        return { source, count, factor: itemAt(by, index), weight: itemAt(weights, index) };
      }),
    );
    return { dtype: output, shape, expression: { kind: 'concatenate', along, parts } };
  };
  return {
    a: planned(
      'rows',
      terms.map(({ a }) => a),
      factors.map(() => 1),
    ),
    b: planned(
      'columns',
      terms.map(({ b }) => b),
      factors,
    ),
    rank,
    alpha:
      isOne && first.weight === 1 && first.rsLora === rsLora ? first.alpha : alphaFor(scale, rank, rsLora),
  };
};

/**
 * Plans the factors of a change by its singular value decomposition, truncated to a rank: scales are in the factors, so that
 * the output's is 1.
 *
 * @param terms of products
 * @param summed the matrix, of which it is the decomposition
 */
const truncated = (
  of: string,
  terms: readonly Term[],
  rank: number,
  { rsLora, dtype: wanted }: Pick<FactorOptions, 'rsLora' | 'dtype'>,
  summed: readonly SummedMatrix[] = terms.map(({ weight, scale, ...term }) => ({
    source: lowRankTensor({ rank: term.rank, transposed: false, a: term.a.source, b: term.b.source }),
    coefficient: weight * scale,
    weight,
  })),
): Factors => {
  const { a, b } = itemAt(terms, 0);
  const shape = [b.rows, a.columns] as const;
  const dtype = dtypeOfTruncated(terms, wanted);
  const side = (which: 'left' | 'right', own: Shape): PlannedFactor => ({
    dtype,
    shape: own,
    expression: { kind: 'factor', of, side: which, shape, terms: summed },
  });
  return {
    a: side('right', [rank, a.columns]),
    b: side('left', [b.rows, rank]),
    rank,
    alpha: alphaFor(1, rank, rsLora),
  };
};

/** The dtype that all factors of the terms have, or float32. */
const dtypeOfTruncated = (terms: readonly Term[], wanted: ArithmeticDtype | undefined): FactorDtype => {
  const dtypes = terms.flatMap(({ a, b }) => [a.source.dtype, b.source.dtype]);
  const [common, ...others] = new Set<Dtype>(wanted === undefined ? dtypes : [wanted]);
  const found = factorDtypes.find((dtype) => dtype === common && others.length === 0);
  if (found === undefined && wanted !== undefined)
    throw invalid(
      ['dtype'],
      torchName(wanted),
      `float32, bfloat16 or float16 where ${optionName('rank')} truncates`,
    );
  return found ?? 'F32';
};

const copyOf = ({ source }: Factor, dtype: Dtype): PlannedExpression =>
  source.dtype === dtype ? { kind: 'copy', source } : { kind: 'linear', terms: [{ source, weight: 1 }] };

/** Returns rows of a matrix as those from `at` on of one of so many, or all its columns as those from `at` on. */
const placed = (
  along: 'rows' | 'columns',
  { source, columns }: Factor,
  { at, from, count, of }: Readonly<Record<'at' | 'from' | 'count' | 'of', number>>,
): Operand =>
  along === 'rows'
    ? gatheredTensor(of, [[at, from, count]], source)
    : columnTensor({ columns: of, first: at, count: columns }, source);

/**
 * Returns the dtype that holds matrices times factors: their own where they share it and no product is rounded in it, else
 * float32 (of a float64 that one).
 */
const dtypeFor = (matrices: readonly Factor[], factors: readonly number[]): Dtype => {
  const dtypes = [...new Set(matrices.map(({ source }) => source.dtype))];
  const [only, ...others] = dtypes as [Dtype];
  // float16 has few exponents: a product by a power of two may lose bits at their ends.
  const isExact = (factor: number) =>
    Math.abs(factor) === 1 || (only !== 'F16' && isPowerOfTwo(Math.abs(factor)));
  if (others.length === 0 && factors.every(isExact)) return only;
  return dtypes.some((dtype) => bitsOf(dtype) === 64) ? 'F64' : 'F32';
};

const isPowerOfTwo = (value: number): boolean => 2 ** Math.round(Math.log2(value)) === value;

/**
 * Returns the alpha by which PEFT's arithmetic gives this scale: alpha / rank, or alpha / √rank. The product may be one
 * rounding away from it, so that its neighbours are tried; where no number gives exactly the scale the last bit differs.
 */
export const alphaFor = (scale: number, rank: number, rsLora: boolean): number => {
  const divisor = rsLora ? Math.sqrt(rank) : rank;
  const product = scale * divisor;
  const step = Math.abs(product) * Number.EPSILON;
  const near = [0, -0.5, 0.5, -1, 1].map((steps) => product + steps * step);
  return near.find((alpha) => alpha / divisor === scale) ?? product;
};
