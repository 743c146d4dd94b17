import * as z from 'zod';
import { itemAt } from '../../base/errors/lookup.js';
import { type Lowering, takeRows } from '../../methods/operations/program/lowering.js';
import type { Value } from '../../methods/operations/program/program.js';
import { sharedNumbers } from '../../methods/operations/program/shared-list.js';
import type { FactorPiece, FactorShape } from '../../models/adapters/kinds/factored.js';
import { mostSmall } from '../../models/adapters/kinds/tuner.js';
import type { SmallMatrix } from '../../native/job.js';
import { isFloating } from '../../tensor/dtype.js';
import { elementsIn, operandKind, type StoredTensor } from '../../tensor/stored-tensor.js';
import { count, parseBy, type Refuse } from '../parse.js';
import type { OperandKind } from './kind.js';
import { numbersOf } from './small-numbers.js';
import { keyOfStored, parseSource } from './stored.js';

/**
 * An adapter's change as a matrix: a product of pieces, or two such products multiplied elementwise or as a
 * Kronecker product. Dimensions after the first are flattened into columns. Sums are float64 in a fixed
 * order, rounded once to float32 (docs/numbers.md).
 */
export interface FactoredTensor {
  readonly [operandKind]: 'factored';
  readonly dtype: 'F32';
  readonly kronecker: boolean;
  readonly factors: readonly (readonly Piece[])[];
}

type Piece = FactorPiece<StoredTensor>;

export const factoredTensor = ({
  kronecker,
  factors,
}: Pick<FactoredTensor, 'kronecker' | 'factors'>): FactoredTensor => ({
  [operandKind]: 'factored',
  dtype: 'F32',
  kronecker,
  factors,
});

const schema = z.strictObject({
  dtype: z.literal('F32'),
  kronecker: z.boolean(),
  factors: z
    .array(
      z
        .array(
          z.strictObject({
            form: z.enum(['matrix', 'transposed', 'diagonal', 'spread']),
            rows: count.positive(),
            columns: count.positive(),
            stride: count.positive(),
            source: z.unknown(),
          }),
        )
        .min(1)
        .max(8),
    )
    .min(1)
    .max(2),
});

const checkPiece = ({ form, rows, columns, stride, source }: Piece, refuse: Refuse): void => {
  const stored = elementsIn(source);
  const [down, across] = form === 'transposed' ? [columns, rows] : [rows, columns];
  const each = columns / stride;
  const isWithin = {
    diagonal: rows === columns && stored === rows,
    spread: Number.isInteger(each) && rows * stride === stored * each,
    matrix: across <= stride && down * stride === stored,
    transposed: across <= stride && down * stride === stored,
  }[form];
  if (!isFloating(source.dtype) || !isWithin) refuse('a factor is no matrix of its source');
  if (Math.max(stored, rows * columns * (form === 'diagonal' ? 0 : 1)) > mostSmall)
    refuse(`a factor has more than ${mostSmall} elements`);
};

const shapeOf = (pieces: readonly Piece[]): FactorShape => [
  itemAt(pieces, 0).rows,
  itemAt(pieces, pieces.length - 1).columns,
];

export const factored: OperandKind<FactoredTensor> = {
  key: 'kronecker',
  parse: (value, context) => {
    const { target, refuse } = context;
    const { kronecker, factors: given } = parseBy(schema, value, refuse);
    const factors = given.map((pieces) =>
      pieces.map(({ source, ...piece }) => ({ ...piece, source: parseSource(source, context) })),
    );
    for (const pieces of factors)
      for (const [index, piece] of pieces.entries()) {
        checkPiece(piece, refuse);
        if (index > 0 && pieces[index - 1]?.columns !== piece.rows)
          return refuse('pieces of a factor do not fit each other');
      }
    const [first = [0, 0], second = [1, 1]] = factors.map(shapeOf);
    const [rows, columns] = kronecker ? [first[0] * second[0], first[1] * second[1]] : first;
    const [out = 0] = target.shape;
    if (target.shape.length < 2 || rows !== out || rows * columns !== target.elements)
      return refuse('its factors give another shape');
    if (!kronecker && factors.length === 2 && first.join() !== second.join())
      return refuse('its two factors have different shapes');
    return factoredTensor({ kronecker, factors });
  },
  sources: ({ factors }) => factors.flat().map(({ source }) => source),
  factors: ({ factors }) => factors.flat().map(({ source }) => source),
  describe: ({ factors }, nameOf) =>
    factors
      .slice(0, 1)
      .map(([first]) => first && nameOf(first.source))
      .join(''),
  keyText: ({ kronecker, factors }, identify) =>
    `{${kronecker ? 'Kronecker' : 'elementwise'} product of ${factors
      .map((pieces) =>
        pieces
          .map(
            ({ form, rows, columns, stride, source }) =>
              `${form} ${rows} ${columns} ${stride} of ${keyOfStored(source, identify)}`,
          )
          .join(' by '),
      )
      .join(' and ')}}`,
  // Adds no weights, because the changed tensor already counts with its own.
  weights: () => new Map(),
  statistics: ({ factors }) => [
    { what: 'small factors', sources: factors.flat().map(({ source }) => source) },
  ],
  lower: async ({ kronecker, factors }, to) => {
    takeRows(to, 'first', 'an adapter');
    return await lowerFactors(factors, kronecker, to);
  },
  needsRows: true,
};

const lowerFactors = async (
  factors: FactoredTensor['factors'],
  kronecker: boolean,
  to: Lowering,
): Promise<Value> => {
  const matrices: SmallMatrix[] = [];
  for (const pieces of factors) {
    const dense: Dense[] = [];
    for (const piece of pieces) dense.push(numbersIn(piece, await numbersOf(to, piece.source)));
    matrices.push(matrixOf(dense));
  }
  return to.program.factored(matrices, kronecker);
};

/** A matrix, a diagonal matrix, or the Kronecker product of either with an identity of size `each`. */
interface Dense {
  readonly rows: number;
  readonly columns: number;
  readonly isDiagonal: boolean;
  readonly each: number;
  readonly numbers: Float64Array;
}

const numbersIn = ({ form, rows, columns, stride }: Piece, stored: Float64Array): Dense => {
  const isDiagonal = form === 'diagonal';
  const each = form === 'spread' ? columns / stride : 1;
  if (isDiagonal || form === 'spread' || (form === 'matrix' && stride === columns))
    return { rows, columns, isDiagonal, each, numbers: stored };
  const numbers = new Float64Array(rows * columns);
  const [down, across] = form === 'transposed' ? [1, stride] : [stride, 1];
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1)
      numbers[row * columns + column] = itemAt(stored, row * down + column * across);
  return { rows, columns, isDiagonal, each, numbers };
};

const productOf = (first: Dense, b: Dense): Dense => {
  const a = first.each === 1 ? first : { ...first, each: 1, numbers: wholeOf(first) };
  const [rows, columns] = [a.rows, b.columns];
  const { each } = b;
  const width = columns / each;
  if (a.isDiagonal && b.isDiagonal)
    return { ...a, numbers: a.numbers.map((number, index) => number * itemAt(b.numbers, index)) };
  const numbers = new Float64Array(rows * columns);
  for (let row = 0; row < rows; row += 1)
    for (let column = 0; column < columns; column += 1) {
      const at = row * columns + column;
      if (a.isDiagonal) numbers[at] = itemAt(a.numbers, row) * itemAt(b.numbers, at);
      else if (b.isDiagonal) numbers[at] = itemAt(a.numbers, at) * itemAt(b.numbers, column);
      else
        for (let k = column % each, from = Math.floor(column / each); k < a.columns; k += each, from += width)
          numbers[at] =
            itemAt(numbers, at) + itemAt(a.numbers, row * a.columns + k) * itemAt(b.numbers, from);
    }
  return { rows, columns, isDiagonal: false, each: 1, numbers };
};

/** Multiplies a chain, or splits it at its smallest width into two factors if these have fewer numbers. */
const matrixOf = (pieces: readonly Dense[]): SmallMatrix => {
  const [rows, columns] = [itemAt(pieces, 0).rows, itemAt(pieces, pieces.length - 1).columns];
  const product = (chain: readonly Dense[]): Dense => chain.reduce(productOf);
  const widths = pieces.slice(1).map((piece) => piece.rows);
  const rank = Math.min(...widths);
  const isSmaller = pieces.length > 1 && rank * (rows + columns) < rows * columns;
  if (!isSmaller) return { rows, columns, rank: 0, numbers: sharedNumbers(wholeOf(product(pieces))) };
  const cut = widths.indexOf(rank) + 1;
  const [left, right] = [wholeOf(product(pieces.slice(0, cut))), wholeOf(product(pieces.slice(cut)))];
  const numbers = new Float64Array(left.length + right.length);
  numbers.set(left);
  numbers.set(right, left.length);
  return { rows, columns, rank, numbers: sharedNumbers(numbers) };
};

const wholeOf = ({ rows, columns, isDiagonal, each, numbers }: Dense): Float64Array => {
  if (!isDiagonal && each === 1) return numbers;
  const whole = new Float64Array(rows * columns);
  const width = isDiagonal ? 1 : columns / each;
  for (const [index, number] of numbers.entries()) {
    const [row, column] = isDiagonal
      ? [index, index]
      : [Math.floor(index / width) * each, (index % width) * each];
    for (let k = 0; k < each; k += 1) whole[(row + k) * columns + column + k] = number;
  }
  return whole;
};
