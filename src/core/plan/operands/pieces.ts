import * as z from 'zod';
import { itemAt } from '../../base/errors/lookup.js';
import { sharedList } from '../../methods/operations/program/shared-list.js';
import { type Box, coverProblem, runsOf, unitOf } from '../../tensor/boxes.js';
import { arithmeticOf, bitsOf, type Dtype } from '../../tensor/dtype.js';
import { elementCount, elementsOf, type Shape, type TensorPiece } from '../../tensor/reference.js';
import { operandKind, type StoredTensor, storedTensor } from '../../tensor/stored-tensor.js';
import { count, dtype, parseBy } from '../parse.js';
import type { OperandKind } from './kind.js';
import { keyOfStored, parseSource, readAs } from './stored.js';

export interface Piece extends Box {
  readonly source: StoredTensor;
}

/** A tensor cut into boxes that contain each element once. */
export interface TensorInPieces {
  readonly [operandKind]: 'pieces';
  readonly dtype: Dtype;
  readonly shape: Shape;
  readonly pieces: readonly Piece[];
}

export const tensorInPieces = (
  input: number,
  { dtype, shape }: { readonly dtype: Dtype; readonly shape: Shape },
  pieces: readonly TensorPiece[],
): TensorInPieces => ({
  [operandKind]: 'pieces',
  dtype,
  shape,
  pieces: pieces.map(({ file, begin, end, at, sizes }) => ({
    at,
    sizes,
    source: storedTensor(input, { file, begin, end, dtype }),
  })),
});

const counts = z.array(count).max(64);

const schema = z.strictObject({
  dtype,
  shape: counts,
  pieces: z.array(z.strictObject({ at: counts, sizes: counts, source: z.unknown() })).min(2),
});

export const pieces: OperandKind<TensorInPieces> = {
  key: 'pieces',
  parse: (value, context) => {
    const { target, refuse } = context;
    const given = parseBy(schema, value, refuse);
    const { dtype, shape } = given;
    if (bitsOf(dtype) % 8 !== 0) return refuse(`pieces of ${dtype} are put together`);
    if (elementCount(shape) !== target.elements || target.elements === 0)
      return refuse(`its pieces are of a tensor that has not ${target.elements} elements`);
    if (given.pieces.some(({ sizes }) => (elementCount(sizes) ?? 0) === 0))
      return refuse('a piece of it has no elements');
    const problem = coverProblem(shape, given.pieces);
    if (problem !== undefined) return refuse(problem);
    const made = given.pieces.map(({ at, sizes, source: of }): Piece => {
      const source = parseSource(of, context);
      if (source.dtype !== dtype || (source.end - source.begin) * 8 !== elementsOf(sizes) * bitsOf(dtype))
        return refuse('a piece of it has another length than its source');
      return { at, sizes, source };
    });
    return { [operandKind]: 'pieces', dtype, shape, pieces: made };
  },
  sources: (tensor) => tensor.pieces.map(({ source }) => source),
  describe: (tensor, nameOf) => nameOf(itemAt(tensor.pieces, 0).source),
  keyText: ({ shape, pieces }, identify) =>
    `[${shape.join(' ')} of ${pieces.map(({ at, sizes, source }) => `${at.join(' ')} ${sizes.join(' ')} ${keyOfStored(source, identify)}`).join(', ')}]`,
  weights: (tensor) => new Map([[itemAt(tensor.pieces, 0).source.input, 1]]),
  tensor: (tensor) => itemAt(tensor.pieces, 0).source,
  lower: async ({ dtype, shape, pieces }, { program }, asBits) => {
    // Layers share these lists, because their matrices are cut alike.
    const cut = JSON.stringify([shape, pieces.map(({ at, sizes }) => [at, sizes])]);
    const unit = unitOf(shape, pieces);
    const values = pieces.map((piece, index) => {
      const runs = sharedList(`piece ${index} of ${cut}`, () =>
        runsOf(shape, piece).flatMap((run) => run.map((elements) => elements / unit)),
      );
      return program.gather(readAs(piece.source, asBits), unit, runs);
    });
    const runs = sharedList(`pieces of ${cut}`, () =>
      pieces
        .flatMap((piece, index) =>
          runsOf(shape, piece).map(([to, , count]) => [to / unit, index, count / unit] as const),
        )
        .sort(([a], [b]) => a - b)
        .flat(),
    );
    return program.assemble({ values, width: unit, runs, dtype: arithmeticOf(dtype) });
  },
  move: (source) => ({ kind: 'assemble', parts: [{ source, rows: [[0, itemAt(source.shape, 0)]] }] }),
  keepsBits: true,
};
