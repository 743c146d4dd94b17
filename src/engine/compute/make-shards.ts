import type { Job } from '../../native/addon.js';
import { jobKinds } from '../../native/addon.js';
import { movesBytes, type PlannedTensor, type StoredTensor, sourcesOf } from '../../plan/plan.js';
import { bitsOf } from '../../tensor/dtype.js';
import type { InputFiles } from '../input-files.js';
import { failureOf } from '../threads/errors.js';
import type { WorkerPool } from '../threads/pool.js';
import { Settler } from './settle.js';
import { defaultSliceBytes, hasRanks, jobOf, rangeOf } from './slices.js';

/** Tensors that are made of the same inputs, each in a shard (`S`); one alone may be of any kind. */
export interface Slab<S> {
  readonly outputs: readonly { readonly shard: S; readonly tensor: PlannedTensor }[];
}

/** Shards that are written side by side. */
export interface Group<S> {
  readonly shards: readonly S[];
  readonly slabs: readonly Slab<S>[];
}

/** Where shards go. */
export interface ShardSink<S> {
  /** A descriptor of the shard's file, of its full size and with its header; undefined where the shard is not to be made here. */
  begin(shard: S): Promise<number | undefined>;
  /** The shard is written. */
  finish(shard: S): Promise<void>;
  /** The shard could not be made. What is thrown here stops the run. */
  fail(shard: S, error: unknown): Promise<void>;
}

/** Output bytes of a job, of all its outputs. */
const jobBytes = 4 * defaultSliceBytes;

/** Groups that are being finished, at most, when the next one is begun: their files are open, and lost when the run is killed. */
const mostEnding = 8;

interface OpenGroup<S> {
  readonly files: ReadonlyMap<S, number>;
  readonly units: Iterator<Unit<S>>;
  outstanding: number;
  handedOut: boolean;
  failure: { readonly error: unknown } | undefined;
}

/** A slice of a slab. */
interface Unit<S> {
  readonly slab: Slab<S>;
  /** In elements; in bytes where bytes are moved. */
  readonly first: number;
  readonly count: number;
}

/**
 * Makes shards group by group, each input byte of a group being read once for all its outputs. Lanes go on to the next group while the last slices of
 * one are under way. A group that fails takes its own shards with it and no others.
 */
export const makeShards = async <S>(
  groups: Iterable<Group<S>>,
  pool: WorkerPool,
  inputs: InputFiles,
  sink: ShardSink<S>,
): Promise<void> => {
  const settler = new Settler(pool, inputs);
  const waiting = groups[Symbol.iterator]();
  let current: OpenGroup<S> | undefined;
  /** One opens at a time; what follows sees it open. */
  let turn: Promise<unknown> = Promise.resolve();
  const endings = new Set<Promise<void>>();

  const open = async (): Promise<OpenGroup<S> | undefined> => {
    for (let next = waiting.next(); next.done !== true; next = waiting.next()) {
      while (endings.size >= mostEnding) await Promise.race(endings);
      const files = new Map<S, number>();
      for (const shard of next.value.shards) {
        const fd = await sink.begin(shard);
        if (fd !== undefined) files.set(shard, fd);
      }
      const slabs = next.value.slabs
        .map(({ outputs }) => ({ outputs: outputs.filter(({ shard }) => files.has(shard)) }))
        .filter(({ outputs }) => outputs.length > 0);
      if (files.size > 0)
        return { files, units: unitsOf(slabs), outstanding: 0, handedOut: false, failure: undefined };
    }
    return undefined;
  };

  const next = async (): Promise<{ group: OpenGroup<S>; unit: Unit<S> } | undefined> => {
    for (;;) {
      current ??= await open();
      if (current === undefined || pool.stopped) return undefined;
      const group = current;
      const unit =
        group.failure === undefined ? group.units.next() : { done: true as const, value: undefined };
      if (unit.done !== true) {
        group.outstanding += 1;
        return { group, unit: unit.value };
      }
      group.handedOut = true;
      current = undefined;
      if (group.outstanding === 0) beginEnd(group);
    }
  };

  const beginEnd = (group: OpenGroup<S>): void => {
    const ending = end(group).finally(() => endings.delete(ending));
    endings.add(ending);
  };

  const end = async ({ files, failure }: OpenGroup<S>): Promise<void> => {
    // Together: each is hashed by a thread, and the disk syncs them together.
    await Promise.all(
      [...files.keys()].map((shard) =>
        (failure === undefined ? sink.finish(shard) : sink.fail(shard, failure.error)).catch(
          (error: unknown) => pool.stop(error),
        ),
      ),
    );
  };

  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = turn.then(work);
    turn = result.catch(() => undefined);
    return result;
  };

  try {
    await pool.inLanes(async () => {
      while (!pool.stopped) {
        const work = await inTurn(next);
        if (work === undefined) return;
        const { group, unit } = work;
        try {
          await carryOut(unit, group.files, pool, inputs, settler);
        } catch (error) {
          group.failure ??= { error };
        }
        group.outstanding -= 1;
        if (group.handedOut && group.outstanding === 0) beginEnd(group);
      }
    });
  } finally {
    await Promise.all(endings);
  }
  pool.throwIfStopped();
};

const widthOf = ({ dtype }: PlannedTensor): number => bitsOf(dtype) / 8;

const elementsOf = (tensor: PlannedTensor): number => (tensor.end - tensor.begin) / widthOf(tensor);

function* unitsOf<S>(slabs: readonly Slab<S>[]): Generator<Unit<S>> {
  for (const slab of slabs) {
    const tensors = slab.outputs.map(({ tensor }) => tensor);
    const [first] = tensors;
    if (first === undefined) continue;
    const isMove = tensors.length === 1 && movesBytes(first.expression);
    const total = isMove ? first.end - first.begin : elementsOf(first);
    const perElement = isMove ? 1 : tensors.reduce((bytes, tensor) => bytes + widthOf(tensor), 0);
    const row = tensors.some(({ expression }) => hasRanks(expression))
      ? Math.max(1, first.shape.at(-1) ?? 1)
      : 8;
    const most = Math.max(row, Math.floor((isMove ? defaultSliceBytes : jobBytes) / perElement / row) * row);
    for (let begin = 0; begin < total; begin += most)
      yield { slab, first: begin, count: Math.min(most, total - begin) };
  }
}

const carryOut = async <S>(
  unit: Unit<S>,
  files: ReadonlyMap<S, number>,
  pool: WorkerPool,
  inputs: InputFiles,
  settler: Settler,
): Promise<void> => {
  const tensors = tensorsOf(unit.slab);
  const fds = unit.slab.outputs.map(({ shard }) => files.get(shard) ?? -1);
  const fdOf = (source: StoredTensor) => inputs.fdOf(source);
  const [only] = tensors;
  const job =
    tensors.length === 1 && only !== undefined && movesBytes(only.expression)
      ? jobOf(
          { tensor: only, first: unit.first, count: unit.count, bytes: unit.count },
          fds[0] ?? -1,
          fdOf,
          undefined,
        )
      : await sharedJob(unit, tensors, fds, fdOf, settler);
  const result = await pool.run([job]);
  if (result.ok) return;
  const names = [...new Set(tensors.map(({ name }) => name))].join(', ');
  const sources =
    tensors.length === 1 && only !== undefined
      ? sourcesOf(only.expression)
      : (await settler.programOfAll(tensors)).sources;
  throw failureOf(
    result.status,
    { tensor: names, file: names, dtype: only?.dtype ?? 'BF16' },
    sources.map((source) => inputs.pathOf(source)),
  );
};

const lists = new WeakMap<object, readonly PlannedTensor[]>();

/** One array for each slab: it is what its program is known by. */
const tensorsOf = <S>(slab: Slab<S>): readonly PlannedTensor[] => {
  const known = lists.get(slab) ?? slab.outputs.map(({ tensor }) => tensor);
  lists.set(slab, known);
  return known;
};

const sharedJob = async <S>(
  { first, count }: Unit<S>,
  tensors: readonly PlannedTensor[],
  fds: readonly number[],
  fdOf: (source: StoredTensor) => number,
  settler: Settler,
): Promise<Job> => {
  const { sources, nodes, values } = await settler.programOfAll(tensors);
  return {
    kind: jobKinds.compute,
    sources: sources.map((source) =>
      rangeOf(fdOf(source), source.begin + (first * bitsOf(source.dtype)) / 8, source.dtype, true),
    ),
    program: { nodes, first, columns: Math.max(1, tensors[0]?.shape.at(-1) ?? 1) },
    outputs: tensors.map((tensor, index) => ({
      value: values[index] ?? -1,
      to: rangeOf(fds[index] ?? -1, tensor.begin + first * widthOf(tensor), tensor.dtype, true),
    })),
    count,
  };
};
