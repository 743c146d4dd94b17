import type { Emitted } from '../../../methods/operations/program/program.js';
import type { NativeProgram } from '../../../native/job.js';
import { arithmeticOf } from '../../../tensor/dtype.js';
import type { StoredTensor } from '../../../tensor/stored-tensor.js';

interface Slice {
  readonly first: number;
  readonly count: number;
  readonly scattered?: true | undefined;
}

export const nativeProgram = (
  { sources, nodes, columns, watched }: Emitted,
  fdOf: (source: StoredTensor) => number,
  { first, count, scattered }: Slice,
): NativeProgram => ({
  sources: sources.map((source) => ({
    fd: fdOf(source),
    begin: source.begin,
    dtype: arithmeticOf(source.dtype),
    ...(source.sliced ?? { slicing: 'elements' }),
  })),
  nodes,
  first,
  count,
  columns,
  watched,
  ...(scattered && { scattered }),
});
