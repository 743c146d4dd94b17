import { LayerloomError } from '../../../base/errors/errors.js';
import { itemAt } from '../../../base/errors/lookup.js';
import { optionName } from '../../../base/errors/option-name.js';
import { invalidSetting } from '../../../methods/framework/declaration/settings.js';
import type { Factor as FactorFormula } from '../../../methods/operations/means/factor.js';
import { type FactorDtype, factorDtypes } from '../../../native/solve.js';
import { type ArithmeticDtype, bitsOf, type Dtype, torchName } from '../../../tensor/dtype.js';
import type { Shape } from '../../../tensor/reference.js';
import { columnTensor } from '../../operands/columns.js';
import { computedTensor } from '../../operands/computed.js';
import { gatheredTensor } from '../../operands/gathered.js';
import { lowRankTensor } from '../../operands/low-rank.js';
import type { Operand, PlannedExpression } from '../../plan.js';
import type { Change, Factor, Term } from './change.js';

export interface PlannedFactor {
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly expression: PlannedExpression;
}

export interface Factors {
  readonly a: PlannedFactor;
  readonly b: PlannedFactor;
  readonly rank: number;
  readonly alpha: number;
}

type SummedMatrix = FactorFormula<Operand>['terms'][number];

export interface FactorOptions {
  readonly rsLora: boolean;
  readonly dtype: ArithmeticDtype | undefined;
  /** For a sum, the maximum rank; for a change by formula, the rank. */
  readonly rank: number | undefined;
  readonly isNested: boolean;
  readonly method: string;
}

/**
 * Returns the factors of a change.
 *
 * - A single adapter of weight 1 is copied byte for byte.
 * - A sum concatenates factors: A = [A₁; A₂; …], B = [f₁B₁, f₂B₂, …], with scale c and c·fᵢ = weightᵢ ·
 * scaleᵢ. If these products are all equal, every f is 1 and A and B keep their bits.
 * - Sums above the maximum rank, and changes by formula, are truncated (`truncated`).
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
      throw invalidSetting(
        ['rank'],
        most,
        `${rank} or more where factors of experts are merged (${parameter})`,
      );
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
    // B interleaves experts: each rank has a column per expert. A has a block of ranks per expert, so its
    // blocks are joined expert by expert.
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

/** Returns the nearest factors of a rank, by truncated SVD, with scale 1. */
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

/** Returns the dtype that all factors have, otherwise float32. */
const dtypeOfTruncated = (terms: readonly Term[], wanted: ArithmeticDtype | undefined): FactorDtype => {
  const dtypes = terms.flatMap(({ a, b }) => [a.source.dtype, b.source.dtype]);
  const [common, ...others] = new Set<Dtype>(wanted === undefined ? dtypes : [wanted]);
  const found = factorDtypes.find((dtype) => dtype === common && others.length === 0);
  if (found === undefined && wanted !== undefined)
    throw invalidSetting(
      ['dtype'],
      torchName(wanted),
      `float32, bfloat16 or float16 where ${optionName('rank')} truncates`,
    );
  return found ?? 'F32';
};

const copyOf = ({ source }: Factor, dtype: Dtype): PlannedExpression =>
  source.dtype === dtype ? { kind: 'copy', source } : { kind: 'linear', terms: [{ source, weight: 1 }] };

const placed = (
  along: 'rows' | 'columns',
  { source, columns }: Factor,
  { at, from, count, of }: Readonly<Record<'at' | 'from' | 'count' | 'of', number>>,
): Operand =>
  along === 'rows'
    ? gatheredTensor(of, [[at, from, count]], source)
    : columnTensor({ columns: of, first: at, count: columns }, source);

/** Returns the dtype for products with factors: the matrices' if exact, else float32 or float64. */
const dtypeFor = (matrices: readonly Factor[], factors: readonly number[]): Dtype => {
  const dtypes = [...new Set(matrices.map(({ source }) => source.dtype))];
  const [only, ...others] = dtypes as [Dtype];
  // In float16, even products with powers of two may underflow or overflow.
  const isExact = (factor: number) =>
    Math.abs(factor) === 1 || (only !== 'F16' && isPowerOfTwo(Math.abs(factor)));
  if (others.length === 0 && factors.every(isExact)) return only;
  return dtypes.some((dtype) => bitsOf(dtype) === 64) ? 'F64' : 'F32';
};

const isPowerOfTwo = (value: number): boolean => 2 ** Math.round(Math.log2(value)) === value;

/**
 * Returns the alpha from which PEFT computes `scale`: alpha/rank, or alpha/√rank with `rsLora`. Tries
 * neighbouring numbers, because rounding may change the last bit of the scale. If none is exact, that bit
 * differs.
 */
export const alphaFor = (scale: number, rank: number, rsLora: boolean): number => {
  const divisor = rsLora ? Math.sqrt(rank) : rank;
  const product = scale * divisor;
  const step = Math.abs(product) * Number.EPSILON;
  const near = [0, -0.5, 0.5, -1, 1].map((steps) => product + steps * step);
  return near.find((alpha) => alpha / divisor === scale) ?? product;
};
