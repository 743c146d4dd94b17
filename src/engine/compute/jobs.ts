import { itemAt, valueAt } from '../../lookup.js';
import { dtypeIndex, type Job, jobKinds, type Range } from '../../native/addon.js';
import { isMove } from '../../operations/index.js';
import type { Emitted } from '../../operations/program.js';
import { sourcesOf } from '../../plan/operands.js';
import { arithmeticOf, bitsOf, type Dtype } from '../../tensor/dtype.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import { isMoved, type Piece, type SlabOutput, unitOf } from './tasks.js';

/** Descriptors of open files: inputs by a byte range of theirs, outputs by shard. */
export interface OpenFiles<S> {
  fdOf(source: StoredTensor): number;
  readonly outputs: ReadonlyMap<S, number>;
}

/** Moves know no dtype. */
const rangeOf = (fd: number, offset: number, dtype?: Dtype): Range => ({
  fd,
  offset,
  dtype: dtype === undefined ? 0 : dtypeIndex(arithmeticOf(dtype)),
});

/**
 * Makes the native job of a piece, over open files.
 *
 * @param program of the piece's slab; undefined where bytes are moved
 */
export const jobOf = <S>(piece: Piece<S>, files: OpenFiles<S>, program: Emitted | undefined): Job => {
  const { slab, first, count } = piece;
  const placeOf = ({ shard, tensor }: SlabOutput<S>, dtype?: Dtype): Range =>
    rangeOf(valueAt(files.outputs, shard), tensor.begin + first * unitOf(slab, tensor), dtype);
  const output = itemAt(slab.outputs, 0);
  const { expression, shape } = output.tensor;
  if (isMoved(slab) && isMove(expression))
    return {
      kind: jobKinds[expression.kind],
      sources: sourcesOf(expression).map((source) => rangeOf(files.fdOf(source), source.begin + first)),
      output: placeOf(output),
      count,
    };
  if (program === undefined) throw new Error(`${output.tensor.name} has no program`);
  return {
    kind: jobKinds.compute,
    sources: program.sources.map((source) =>
      rangeOf(files.fdOf(source), source.begin + (first * bitsOf(source.dtype)) / 8, source.dtype),
    ),
    program: { nodes: program.nodes, first, columns: Math.max(1, shape.at(-1) ?? 1) },
    outputs: slab.outputs.map((one, index) => ({
      value: itemAt(program.values, index),
      to: placeOf(one, one.tensor.dtype),
    })),
    count,
  };
};
