import { itemAt } from '../../base/errors/lookup.js';
import { isMove, isPart, isWhole } from '../../methods/operations/index.js';
import { gridOfMatrix } from '../../methods/operations/quantised/quantise.js';
import { rowsTogether } from '../../plan/operands.js';
import type { PlannedShard, PlannedTensor } from '../../plan/plan.js';
import { bitsOf } from '../../tensor/dtype.js';
import type { Extent } from '../../tensor/extent.js';
import { elementsOf, type Shape } from '../../tensor/reference.js';
import { storedTensor } from '../../tensor/stored-tensor.js';

/** Bytes for a few milliseconds of work, so that threads finish at about the same time. */
export const defaultSliceBytes = 8 * 1024 * 1024;

/** Slices grow by this factor if outputs share reads of inputs. */
const sharedSlices = 4;

export interface SlabOutput<S> {
  readonly shard: S;
  readonly tensor: PlannedTensor;
}

/** Outputs of one shape, computed together to read common inputs once. A copied tensor has its own slab. */
export interface Slab<S> {
  readonly outputs: readonly SlabOutput<S>[];
}

/** Shards written together, because their slabs share inputs. */
export interface Group<S> {
  readonly shards: readonly S[];
  readonly slabs: readonly Slab<S>[];
}

/** Elements [first, first + count) of a slab, or bytes if the slab is copied (`isMoved`). */
export interface Piece<S> {
  readonly slab: Slab<S>;
  readonly first: number;
  readonly count: number;
}

/** Work for one call of a worker: a piece of a large slab, or many small slabs. */
export interface Task<S> {
  readonly pieces: readonly Piece<S>[];
}

/** True for a slab that only copies bytes. Other slabs have a program, even if some outputs are copies. */
export const isMoved = ({ outputs: [first, more] }: Slab<unknown>): boolean =>
  first !== undefined && more === undefined && isMove(first.tensor.expression);

/** True for the two factors of one matrix, because one task makes both. */
export const isFactorised = ({ outputs: [first] }: Slab<unknown>): boolean =>
  first?.tensor.expression.kind === 'factor';

/** True if a solver makes the slab. */
export const isMadeWhole = ({ outputs: [first] }: Slab<unknown>): boolean =>
  first !== undefined && isWhole(first.tensor.expression);

/** True if the run measures how much of a change the slab's codes keep. */
export const isMeasured = ({ outputs }: Slab<unknown>): boolean =>
  outputs.some(
    ({ tensor: { expression } }) => expression.kind === 'quantise' && expression.base !== undefined,
  );

export const isScales = ({ expression }: PlannedTensor): boolean =>
  expression.kind === 'quantise' && expression.part === 'scales';

/** Returns name and shape of the tensor, or of the matrix that it is part of. */
export const computedOf = ({
  name,
  shape,
  expression,
}: PlannedTensor): { readonly name: string; readonly shape: Shape } =>
  isPart(expression) ? { name: expression.of, shape: expression.shape } : { name, shape };

/** Returns a key that is equal for tensors of equal shape and slices, which one program can compute. */
export const slicingOf = (tensor: PlannedTensor): string => {
  const { expression } = tensor;
  const blocks = expression.kind === 'quantise' ? ` in ${expression.block.join()}` : '';
  return `${computedOf(tensor).shape.join()}${blocks}`;
};

const unitOf = (slab: Slab<unknown>, { dtype }: PlannedTensor): number =>
  isMoved(slab) ? 1 : bitsOf(dtype) / 8;

/** Counts bytes before a unit. Each row of blocks has one row of scales. */
const bytesBefore = (slab: Slab<unknown>, tensor: PlannedTensor, unit: number): number => {
  const { expression, dtype } = tensor;
  if (expression.kind !== 'quantise' || expression.part === 'codes') return unit * unitOf(slab, tensor);
  const { shape, block } = expression;
  const rows = unit / shape[1];
  return (Math.ceil(rows / Math.min(block[0], shape[0])) * gridOfMatrix(expression)[1] * bitsOf(dtype)) / 8;
};

function* piecesOf<S>(slab: Slab<S>, sliceBytes: number): Generator<Piece<S> & { readonly bytes: number }> {
  const [first] = slab.outputs;
  if (first === undefined) return;
  const { tensor } = first;
  const unit = slab.outputs.reduce(
    (bytes, one) => bytes + (isScales(one.tensor) ? 0 : unitOf(slab, one.tensor)),
    0,
  );
  const total =
    tensor.expression.kind === 'quantise'
      ? elementsOf(tensor.expression.shape)
      : (tensor.end - tensor.begin) / unitOf(slab, tensor);
  const rows = Math.max(...slab.outputs.map((one) => rowsTogether(one.tensor.expression)));
  const row = rows > 0 ? rows * Math.max(1, computedOf(tensor).shape.at(-1) ?? 1) : 8;
  const limit = slab.outputs.length === 1 ? sliceBytes : sharedSlices * sliceBytes;
  const most = Math.max(row, Math.floor(limit / Math.max(1, unit) / row) * row);
  for (let begin = 0; begin < total; begin += most) {
    const count = Math.min(most, total - begin);
    yield { slab, first: begin, count, bytes: count * unit };
  }
}

export const piecesWithin = <S>(slab: Slab<S>, { begin, end }: Extent): Piece<S>[] => {
  const most = defaultSliceBytes / unitOf(slab, itemAt(slab.outputs, 0).tensor);
  return Array.from({ length: Math.ceil((end - begin) / most) }, (_, index) => {
    const first = begin + index * most;
    return { slab, first, count: Math.min(most, end - first) };
  });
};

/**
 * Yields tasks with about `sliceBytes` of output in slab order, so that shards are written front to back.
 * Small slabs share a task.
 *
 * @param sliceBytes a multiple of 8, so that no element is cut
 */
export function* tasksOf<S>(slabs: readonly Slab<S>[], sliceBytes = defaultSliceBytes): Generator<Task<S>> {
  let pieces: Piece<S>[] = [];
  let bytes = 0;
  for (const slab of slabs) {
    if (isMadeWhole(slab)) {
      yield { pieces: [{ slab, first: 0, count: 1 }] };
      continue;
    }
    for (const piece of piecesOf(slab, sliceBytes)) {
      if (pieces.length > 0 && bytes + piece.bytes > sliceBytes) {
        yield { pieces };
        [pieces, bytes] = [[], 0];
      }
      pieces.push(piece);
      bytes += piece.bytes;
    }
  }
  if (pieces.length > 0) yield { pieces };
}

/** Returns the byte ranges that a task writes, with adjacent ones joined. */
export const extentsOf = <S>({ pieces }: Task<S>): ReadonlyMap<S, readonly Extent[]> => {
  const extents = new Map<S, Extent[]>();
  for (const { slab, first, count } of pieces)
    for (const { shard, tensor } of slab.outputs) {
      const placeOf = (unit: number) => tensor.begin + bytesBefore(slab, tensor, unit);
      const { begin, end } = isMadeWhole(slab)
        ? tensor
        : { begin: placeOf(first), end: placeOf(first + count) };
      const ofShard = extents.get(shard) ?? [];
      const last = ofShard.at(-1);
      if (last?.end === begin) ofShard[ofShard.length - 1] = { begin: last.begin, end };
      else ofShard.push({ begin, end });
      extents.set(shard, ofShard);
    }
  return extents;
};

export const bytesOf = <S>(task: Task<S>): number =>
  [...extentsOf(task).values()].flat().reduce((total, { begin, end }) => total + end - begin, 0);

/** Returns a shard's slabs: one per tensor, or one for a whole copied file (`verbatim`). */
export const groupOfOne = (shard: PlannedShard): Group<PlannedShard> => ({
  shards: [shard],
  slabs:
    shard.verbatim === undefined
      ? slabsOf(shard)
      : [{ outputs: [{ shard, tensor: wholeFile(shard, shard.verbatim) }] }],
});

/** Returns a shard's slabs. A matrix's two factors share a slab, as do its codes and scales. */
const slabsOf = (shard: PlannedShard): Slab<PlannedShard>[] => {
  const slabs = new Map<string, SlabOutput<PlannedShard>[]>();
  for (const tensor of shard.tensors) {
    const { name, expression } = tensor;
    const key = isPart(expression) ? `${expression.kind} ${expression.of}` : `tensor ${name}`;
    const slab = slabs.get(key) ?? [];
    slab.push({ shard, tensor });
    slabs.set(key, slab);
  }
  return [...slabs.values()].map((outputs) => ({ outputs }));
};

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
  expression: { kind: 'copy', source: storedTensor(input, { file, begin: 0, end: bytes, dtype: 'U8' }) },
});
