import { itemAt, valueAt } from '../../base/errors/lookup.js';
import { isMove } from '../../methods/operations/index.js';
import type { Emitted } from '../../methods/operations/program/program.js';
import type { Job, Location } from '../../native/job.js';
import { sourcesOf } from '../../plan/operands.js';
import { arithmeticOf } from '../../tensor/dtype.js';
import type { StoredTensor } from '../../tensor/stored-tensor.js';
import { nativeProgram } from './measures/native-program.js';
import { isMoved, isScales, type Piece, type SlabOutput } from './tasks.js';

export interface OpenFiles<S> {
  fdOf(source: StoredTensor): number;
  readonly outputs: ReadonlyMap<S, number>;
  readonly scattered?: true | undefined;
}

/**
 * @param program the slab's; undefined if the slab is copied
 * @param tally receives counts at the bounds of the program's vote
 */
export const jobOf = <S>(
  piece: Piece<S>,
  files: OpenFiles<S>,
  program: Emitted | undefined,
  tally?: BigInt64Array,
): Job => {
  const { slab, first, count } = piece;
  const locationOf = ({ shard, tensor }: SlabOutput<S>): Location => ({
    fd: valueAt(files.outputs, shard),
    begin: tensor.begin,
  });
  const output = itemAt(slab.outputs, 0);
  const { expression, name } = output.tensor;
  if (isMoved(slab) && isMove(expression)) {
    const sources = sourcesOf(expression).map((source) => ({ fd: files.fdOf(source), begin: source.begin }));
    const slice = { to: locationOf(output), first, count };
    return expression.kind === 'copy'
      ? { kind: 'copy', source: itemAt(sources, 0), ...slice }
      : { kind: 'same', sources, ...slice };
  }
  if (program === undefined) throw new Error(`${name} has no program`);
  return {
    kind: 'compute',
    program: nativeProgram(program, files.fdOf, { first, count, scattered: files.scattered }),
    outputs: slab.outputs.map((one, index) => ({
      value: itemAt(program.values, index),
      dtype: arithmeticOf(one.tensor.dtype),
      ...(isScales(one.tensor) ? ({ scales: true } as const) : {}),
      ...locationOf(one),
    })),
    ...(tally === undefined ? {} : { tally }),
  };
};
