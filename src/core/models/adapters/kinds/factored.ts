import { bytesOfTensor, elementsOf, type Shape, type TensorReference } from '../../../tensor/reference.js';

export type FactorShape = readonly [rows: number, columns: number];

/** A small matrix in a stored tensor `S`. Consecutive rows are `stride` elements apart. */
export interface FactorPiece<S> {
  /**
   * `transposed`: rows of the piece are columns of the tensor. `diagonal`: the tensor is the diagonal.
   * `spread`: Kronecker's product of the tensor and an identity.
   */
  readonly form: 'matrix' | 'transposed' | 'diagonal' | 'spread';
  readonly rows: number;
  readonly columns: number;
  readonly stride: number;
  readonly source: S;
}

/** W + scale·F. F is a product of pieces, or two products, joined elementwise or by Kronecker's product. */
export interface FactoredChange {
  readonly kind: 'factored';
  readonly scale: number;
  readonly kronecker: boolean;
  readonly factors: readonly (readonly FactorPiece<TensorReference>[])[];
}

export const matrixShape = ([rows = 1, ...others]: Shape): FactorShape => [rows, elementsOf(others)];

type Pieces = readonly FactorPiece<TensorReference>[];

/** Returns first rows and columns of a stored tensor. Dimensions after the first count as columns. */
export const matrix = (
  source: TensorReference,
  [rows, columns]: FactorShape = matrixShape(source.shape),
): FactorPiece<TensorReference> => {
  const [, stride] = matrixShape(source.shape);
  const bytes = bytesOfTensor(source.dtype, [rows, stride]);
  const cut = { ...source, end: source.begin + bytes, shape: [rows, stride] };
  return { form: 'matrix', rows, columns, stride, source: cut };
};

export const diagonal = (source: TensorReference, size: number): FactorPiece<TensorReference> => ({
  form: 'diagonal',
  rows: size,
  columns: size,
  stride: 1,
  source,
});

/** Σᵢⱼ core[i, j, …]·a[i, out]·b[j, in], the weight [out, in, …] of a convolution. */
export const tuckerProduct = (core: TensorReference, a: TensorReference, b: TensorReference): Pieces => {
  const [rank = 0, , ...kernel] = core.shape;
  const each = elementsOf(kernel);
  const [, inputs] = matrixShape(b.shape);
  const spread = { rows: rank * each, columns: inputs * each, stride: inputs, source: b };
  return [...transposed([matrix(a)]), matrix(core), { form: 'spread', ...spread }];
};

/** True if a core [rank, rank, kernel] and its factors [rank, out] and [rank, in] fit a weight. */
export const fitsTucker = (
  [core, a, b]: readonly [Shape, Shape, Shape],
  rank: number,
  [out, inputs, high, wide = 1]: Shape,
): boolean =>
  core.join() === [rank, rank, high, wide].join() &&
  a.join() === [rank, out].join() &&
  b.join() === [rank, inputs].join();

export const transposed = (pieces: Pieces): Pieces =>
  pieces.toReversed().map(({ form, rows, columns, ...piece }) => ({
    form: form === 'diagonal' ? form : form === 'matrix' ? 'transposed' : 'matrix',
    rows: columns,
    columns: rows,
    ...piece,
  }));
