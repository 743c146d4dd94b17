import { encodeHeader } from '../../checkpoint/header.js';
import { dtypeIndex, type Job, jobKinds, type Range, rowSenses } from '../../native/addon.js';
import { operandsOf } from '../../operations/expression.js';
import {
  isSource,
  movesBytes,
  type PlannedExpression,
  type PlannedShard,
  type PlannedTensor,
  type StoredTensor,
  sourcesOf,
} from '../../plan/plan.js';
import { type ArithmeticDtype, bitsOf } from '../../tensor/dtype.js';
import { decodeKept } from '../../tensor/kept.js';
import type { Emitted } from './program.js';

/** Output bytes of a task: a few milliseconds of work, and little for the last thread to be alone with. */
export const defaultSliceBytes = 8 * 1024 * 1024;

/** Part of a tensor: a job but for the open files. `bytes` is of the output. */
interface Slice {
  readonly tensor: PlannedTensor;
  /** In the tensor, from its start: bytes for copies, elements for `linear`. */
  readonly first: number;
  readonly count: number;
  readonly bytes: number;
}

/** Slices that stand one behind the other in a shard, from `begin` to `end` of the file. */
export interface Stretch {
  readonly begin: number;
  readonly end: number;
  readonly slices: readonly Slice[];
}

/** The output bytes that one unit of `first` and `count` makes. */
const unitOf = ({ dtype, expression }: PlannedTensor): number =>
  movesBytes(expression) ? 1 : bitsOf(dtype) / 8;

/** Whether a program of the expression looks at whole rows, which slices then do not cut. */
export const hasRanks = (expression: PlannedExpression): boolean =>
  expression.kind !== 'copy' &&
  expression.kind !== 'same' &&
  ((expression.kind === 'consensus' &&
    expression.terms.some(({ pruning }) => pruning?.sparsifier.by === 'rank')) ||
    operandsOf(expression).some((operand) => !isSource(operand) && hasRanks(operand.expression)));

function* slicesOf(tensor: PlannedTensor, sliceBytes: number): Generator<Slice> {
  const unit = unitOf(tensor);
  const total = (tensor.end - tensor.begin) / unit;
  const row = hasRanks(tensor.expression) ? Math.max(1, tensor.shape.at(-1) ?? 1) : 1;
  const most = row === 1 ? sliceBytes / unit : Math.max(1, Math.floor(sliceBytes / unit / row)) * row;
  for (let first = 0; first < total; first += most) {
    const count = Math.min(most, total - first);
    yield { tensor, first, count, bytes: count * unit };
  }
}

/** A shard that is an input file is copied as one run of bytes, header and all. */
const wholeFile = (
  { file: name, bytes }: PlannedShard,
  { input, file }: { input: number; file: number },
): PlannedTensor => ({
  name,
  dtype: 'U8',
  shape: [bytes],
  begin: 0,
  end: bytes,
  layer: null,
  expression: { kind: 'copy', source: { input, file, begin: 0, end: bytes, dtype: 'U8' } },
});

/**
 * Cuts a shard's data into stretches of about `sliceBytes`: large tensors into several, many small ones into one.
 *
 * @param sliceBytes a multiple of 8, so that no element is cut
 */
export function* stretchesOf(shard: PlannedShard, sliceBytes = defaultSliceBytes): Generator<Stretch> {
  const tensors = shard.verbatim === undefined ? shard.tensors : [wholeFile(shard, shard.verbatim)];
  let begin = tensors[0]?.begin ?? shard.bytes;
  let end = begin;
  let slices: Slice[] = [];
  for (const tensor of tensors) {
    for (const slice of slicesOf(tensor, sliceBytes)) {
      if (slices.length > 0 && end - begin + slice.bytes > sliceBytes) {
        yield { begin, end, slices };
        begin = end;
        slices = [];
      }
      slices.push(slice);
      end += slice.bytes;
    }
  }
  if (slices.length > 0) yield { begin, end, slices };
}

/** A shard's first bytes, which the plan leaves room for; none where they are copied with the rest. */
export const headerOf = (shard: PlannedShard): Uint8Array => {
  if (shard.verbatim !== undefined) return new Uint8Array();
  return encodeHeader(
    shard.tensors.map(({ name, dtype, shape, begin, end }) => ({ name, dtype, shape, bytes: end - begin })),
  );
};

/** Kernels know only the dtypes they compute in; a copy's dtype is not looked at. */
export const rangeOf = (
  fd: number,
  offset: number,
  dtype: PlannedTensor['dtype'],
  computes: boolean,
): Range => ({
  fd,
  offset,
  dtype: computes ? dtypeIndex(dtype as ArithmeticDtype) : 0,
});

/** The job of a slice, over open files. */
export const jobOf = (
  { tensor, first, count }: Slice,
  output: number,
  fdOf: (source: StoredTensor) => number,
  program: Emitted | undefined,
): Job => {
  const { expression } = tensor;
  const to = rangeOf(output, tensor.begin + first * unitOf(tensor), tensor.dtype, program !== undefined);
  if (program !== undefined)
    return {
      kind: jobKinds.compute,
      sources: program.sources.map((source) =>
        rangeOf(fdOf(source), source.begin + (first * bitsOf(source.dtype)) / 8, source.dtype, true),
      ),
      program: { nodes: program.nodes, first, columns: Math.max(1, tensor.shape.at(-1) ?? 1) },
      outputs: program.values.map((value) => ({ value, to })),
      count,
    };
  if (!isMove(expression)) throw new Error(`${tensor.name} has no program`);
  const sources = sourcesOf(expression).map((source) =>
    rangeOf(fdOf(source), source.begin + first, source.dtype, false),
  );
  if (expression.kind !== 'rowSelect') return { kind: jobKinds[expression.kind], sources, output: to, count };
  const select = {
    kept: decodeKept(expression.kept, tensor.shape[expression.rows === 'input' ? 1 : 0] ?? 0),
    columns: tensor.shape[1] ?? 0,
    width: bitsOf(tensor.dtype) / 8,
    first,
    sense: rowSenses[expression.rows],
  };
  return { kind: jobKinds.rowSelect, sources, output: to, count, select };
};

type Move = Extract<PlannedExpression, { kind: 'copy' | 'same' | 'rowSelect' }>;

const isMove = (expression: PlannedExpression): expression is Move => movesBytes(expression);
