import { itemAt } from '../../base/errors/lookup.js';
import { sourcesOf } from '../../plan/operands.js';
import type { Extent } from '../../tensor/extent.js';
import type { InputFiles } from '../input-files.js';
import { failureOf } from '../threads/errors.js';
import type { WorkerPool } from '../threads/pool.js';
import type { GuessedSlab } from './guessed-slab.js';
import { jobOf, type OpenFiles } from './jobs.js';
import { makeWhole, type WholeMeans, type WholeSink } from './make-whole.js';
import {
  describeNonFinite,
  elementsOfValue,
  firstOf,
  NonFiniteShards,
  type NonFiniteValue,
} from './measures/non-finite.js';
import { type ProgramSink, Programs } from './programs.js';
import {
  computedOf,
  extentsOf,
  type Group,
  isFactorised,
  isMadeWhole,
  isMeasured,
  piecesWithin,
  type Slab,
  type Task,
  tasksOf,
} from './tasks.js';

/** Destination of shards: a merge's directory with a journal, or a store. */
export interface ShardSink<S> extends ProgramSink<S>, WholeSink<S> {
  /** Gives the file its full size and header; undefined if the shard is not needed. */
  begin(shard: S): Promise<number | undefined>;
  has?(shard: S, extent: Extent): boolean;
  isBegun?(shard: S): boolean;
  wrote?(shard: S, extents: readonly Extent[]): void;
  /**
   * @param nonFinite the first NaN or infinity read or computed
   * @throws NON_FINITE, unless the sink continues with other shards
   */
  finish(shard: S, nonFinite: NonFiniteValue | undefined): Promise<void>;
  /** Reports a shard's error. An error thrown here stops the run. */
  fail(shard: S, error: unknown): Promise<void>;
}

/** Maximum number of shards hashed, synced and published at once: computation waits for slow disks. */
const mostEnding = 8;

interface OpenGroup<S> {
  readonly files: OpenFiles<S>;
  readonly remaining: Task<S>[];
  outstanding: number;
  lanes: number;
  failure: { readonly error: unknown } | undefined;
}

/**
 * Makes groups of shards: each shard of a merge, whose sink keeps a journal, or shards of a batch, whose sink
 * is a store. Each input byte of a group is read once for all its outputs.
 *
 * The kernel serialises writes to a file. So a group gets as many lanes as files, and further lanes begin the
 * next group. Once all groups have begun, lanes help the group with most tasks left, so that a large last
 * shard uses all threads. A failed task fails only its group's shards.
 *
 * @throws the sink's error, or the reason why the pool was stopped, after all jobs have ended
 */
export const makeShards = async <S>(
  groups: Iterable<Group<S>>,
  pool: WorkerPool,
  inputs: InputFiles,
  sink: ShardSink<S>,
  sliceBytes?: number,
): Promise<void> => {
  const nonFinite = new NonFiniteShards<S>();
  const programs = new Programs<S>(pool, inputs, sink, nonFinite);
  const waiting = groups[Symbol.iterator]();
  const open = new Set<OpenGroup<S>>();
  const endings = new Set<Promise<void>>();

  const openNext = async (): Promise<boolean> => {
    while (endings.size >= mostEnding) await Promise.race(endings);
    const next = waiting.next();
    if (next.done === true) return false;
    const outputs = new Map<S, number>();
    for (const shard of next.value.shards) {
      const fd = await sink.begin(shard);
      if (fd !== undefined) outputs.set(shard, fd);
    }
    const slabs = next.value.slabs
      .map((slab) => ({ outputs: slab.outputs.filter(({ shard }) => outputs.has(shard)) }))
      .filter((slab) => slab.outputs.length > 0);
    const tasks = [...tasksOf(slabs, sliceBytes)];
    const remaining = tasks.filter((task) => !isDone(task, sink)).reverse();
    // Guesses in no shard that an earlier run began: they could replace journalled bytes, and slices may differ.
    for (const slab of slabs)
      if (!slab.outputs.some(({ shard }) => sink.isBegun?.(shard))) programs.mayGuess(slab);
    const files = { fdOf: inputs.fdOf, outputs };
    const group = { files, remaining, outstanding: 0, lanes: 0, failure: undefined };
    if (outputs.size === 0) return true;
    open.add(group);
    endIfDone(group);
    return true;
  };

  const endIfDone = (group: OpenGroup<S>): void => {
    if (group.remaining.length > 0 || group.outstanding > 0 || !open.delete(group)) return;
    const ending = end(group).finally(() => endings.delete(ending));
    endings.add(ending);
  };

  /** Finishes shards concurrently, so that threads hash different shards and fsyncs overlap. */
  const end = async ({ files, failure }: OpenGroup<S>): Promise<void> => {
    await Promise.all(
      [...files.outputs.keys()].map((shard) =>
        (failure === undefined
          ? sink.finish(shard, nonFinite.of(shard))
          : sink.fail(shard, failure.error)
        ).catch((error: unknown) => pool.stop(error)),
      ),
    );
  };

  /** Returns an open group with fewer lanes than files, a new group, or the group with most tasks left. */
  const choose = async (): Promise<OpenGroup<S> | undefined> => {
    const withTasks = () => [...open].filter(({ remaining }) => remaining.length > 0);
    do {
      const roomy = withTasks().find(({ lanes, files }) => lanes < files.outputs.size);
      if (roomy !== undefined) return roomy;
      // If the disk is slower than the computation, joins an open group.
      if (endings.size >= mostEnding && withTasks().length > 0) break;
    } while (!pool.stopped && (await openNext()));
    return withTasks().sort((a, b) => b.remaining.length - a.remaining.length)[0];
  };

  /** A mutex: otherwise two lanes could each open a group, although one group has room for both. */
  let turn: Promise<unknown> = Promise.resolve();
  const join = (): Promise<OpenGroup<S> | undefined> => {
    const joined = turn.then(async () => {
      const group = await choose();
      if (group !== undefined) group.lanes += 1;
      return group;
    });
    turn = joined.catch(() => undefined);
    return joined;
  };

  const work = async (group: OpenGroup<S>): Promise<void> => {
    // Checks before taking a task: a task taken but not done would make its group look finished.
    while (!pool.stopped) {
      const task = group.remaining.pop();
      if (task === undefined) break;
      group.outstanding += 1;
      try {
        await carryOut(task, { files: group.files, programs, pool, inputs, sink, nonFinite });
      } catch (error) {
        group.failure ??= { error };
        group.remaining.length = 0;
      }
      group.outstanding -= 1;
    }
    group.lanes -= 1;
    endIfDone(group);
  };

  try {
    await pool.inLanes(async () => {
      while (!pool.stopped) {
        const group = await join();
        if (group === undefined) return;
        await work(group);
      }
    });
  } finally {
    await Promise.all(endings);
  }
  pool.throwIfStopped();
};

/** True if an earlier run did the task. Factors and measured codes are always computed again. */
export const isDone = <S>(task: Task<S>, sink: ShardSink<S>): boolean =>
  sink.has !== undefined &&
  !task.pieces.some(({ slab }) => isFactorised(slab) || isMeasured(slab)) &&
  [...extentsOf(task)].every(([shard, extents]) =>
    extents.every((extent) => sink.has?.(shard, extent) === true),
  );

export interface Means<S> extends WholeMeans<S> {
  readonly programs: Programs<S>;
  readonly sink: WholeSink<S> & Pick<ShardSink<S>, 'wrote'>;
}

/** Does a task. If this completes a slab with guessed bounds, corrects it. */
export const carryOut = async <S>(task: Task<S>, means: Means<S>): Promise<void> => {
  const { programs, sink } = means;
  const isWhole = await compute(task, means);
  const unsettled = new Set<GuessedSlab<S>>();
  const computed: [Slab<S>, GuessedSlab<S>][] = [];
  for (const { slab, count } of task.pieces) {
    const guessed = programs.guessedOf(slab);
    if (guessed === undefined) continue;
    unsettled.add(guessed);
    guessed.left -= count;
    if (guessed.left === 0) computed.push([slab, guessed]);
  }
  // Does not journal tasks with NaN or infinity, so that a resumed run finds these again.
  const wrote = (task: Task<S>) => {
    for (const [shard, extents] of extentsOf(task)) sink.wrote?.(shard, extents);
  };
  if (isWhole && unsettled.size === 0) wrote(task);
  if (isWhole) for (const guessed of unsettled) guessed.tasks.push({ task, unsettled });
  for (const [slab, guessed] of computed) {
    if (!(await settle(slab, guessed, means))) continue;
    for (const { task, unsettled } of guessed.tasks) {
      unsettled.delete(guessed);
      if (unsettled.size === 0) wrote(task);
    }
  }
};

/**
 * Recomputes elements on the wrong side of the guess.
 *
 * @returns true if no NaN or infinity was read or computed
 */
const settle = async <S>(slab: Slab<S>, guessed: GuessedSlab<S>, means: Means<S>): Promise<boolean> => {
  const ranges = await means.programs.settle(slab, guessed);
  const areWhole = await Promise.all(
    ranges.flatMap((range) => piecesWithin(slab, range)).map((piece) => compute({ pieces: [piece] }, means)),
  );
  return areWhole.every((isWhole) => isWhole);
};

/** @returns true if no NaN or infinity was read or computed */
const compute = async <S>({ pieces }: Task<S>, means: Means<S>): Promise<boolean> => {
  const { files, programs, pool, inputs, sink, nonFinite } = means;
  const [first] = pieces;
  if (first !== undefined && isMadeWhole(first.slab)) return await makeWhole(first.slab, means);
  const emitted = await Promise.all(pieces.map(({ slab }) => programs.of(slab)));
  const guessed = pieces.map(({ slab }) => programs.guessedOf(slab));
  const result = await pool.run(
    pieces.map((piece, index) => jobOf(piece, files, emitted[index], guessed[index]?.tally)),
  );
  if (result.ok) {
    for (const { job, elements } of result.nonFinite) {
      const program = itemAt(emitted, job);
      // Tallies do not count NaN and infinity. The slab is recomputed, and reports them then.
      if (program === undefined || guessed[job] !== undefined) continue;
      const files = program.sources.map(inputs.pathOf);
      for (const [index, { shard, tensor }] of itemAt(pieces, job).slab.outputs.entries()) {
        const found = firstOf(elementsOfValue(index, program, elements));
        if (found !== undefined)
          nonFinite.note(shard, tensor, found, describeNonFinite(found, computedOf(tensor), files));
      }
    }
    return result.nonFinite.every(({ job }) => guessed[job] !== undefined);
  }
  const { outputs } = itemAt(pieces, result.job).slab;
  const { shard, tensor } = itemAt(outputs, 0);
  const sources = emitted[result.job]?.sources ?? sourcesOf(tensor.expression);
  const distinct = (names: readonly string[]) => [...new Set(names)].join(', ');
  throw failureOf(
    result.status,
    {
      tensor: distinct(outputs.map((output) => output.tensor.name)),
      file: sink.nameOf(shard),
      dtype: tensor.dtype,
    },
    sources.map(inputs.pathOf),
  );
};
