import { itemAt } from '../../lookup.js';
import { sourcesOf } from '../../plan/operands.js';
import type { InputFiles } from '../input-files.js';
import { failureOf } from '../threads/errors.js';
import type { WorkerPool } from '../threads/pool.js';
import { jobOf, type OpenFiles } from './jobs.js';
import { Programs } from './programs.js';
import { type Extent, extentsOf, type Group, type Task, tasksOf } from './tasks.js';

/** A destination of shards: a merge's directory with its journal, or a store. */
export interface ShardSink<S> {
  /** Opens the shard's file, of its full size and with its header. Undefined where the shard is not to be made here. */
  begin(shard: S): Promise<number | undefined>;
  /** True for bytes that an earlier run has written. */
  has?(shard: S, extent: Extent): boolean;
  /** Takes note of bytes that are written. */
  wrote?(shard: S, extents: readonly Extent[]): void;
  /** Publishes the shard, whose bytes are all written. */
  finish(shard: S): Promise<void>;
  /** Gives the shard up. An error thrown here stops the run. */
  fail(shard: S, error: unknown): Promise<void>;
  /** The shard's name in errors. */
  nameOf(shard: S): string;
}

/** Groups being finished, at most, when the next one begins: their files are open, and lost when the run is killed. */
const mostEnding = 8;

interface OpenGroup<S> {
  readonly files: OpenFiles<S>;
  /** Tasks not handed out; the next one last. */
  readonly remaining: Task<S>[];
  /** Tasks handed out and not done. */
  outstanding: number;
  /** Lanes at work on it. */
  lanes: number;
  failure: { readonly error: unknown } | undefined;
}

/**
 * Makes shards group by group: the one loop of the engine, for a merge (each shard a group, a journal behind the sink) and for a batch (a
 * store behind it). Each input byte of a group is read once for all its outputs.
 *
 * Writes to one file exclude each other in the kernel, so as many lanes work on a group as it has files; the others begin the next group,
 * and when none is left help where most remains, so that no large shard makes the tail. A group that fails takes its own shards with it
 * and no others.
 *
 * @throws what a sink threw, or the pool's reason to stop. No job is under way then.
 */
export const makeShards = async <S>(
  groups: Iterable<Group<S>>,
  pool: WorkerPool,
  inputs: InputFiles,
  sink: ShardSink<S>,
  sliceBytes?: number,
): Promise<void> => {
  const programs = new Programs(pool, inputs);
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
    const remaining = [...tasksOf(slabs, sliceBytes)].filter((task) => !isDone(task, sink)).reverse();
    const files = { fdOf: inputs.fdOf.bind(inputs), outputs };
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

  /** Together: each shard is hashed by a thread, and the disk syncs them together. */
  const end = async ({ files, failure }: OpenGroup<S>): Promise<void> => {
    await Promise.all(
      [...files.outputs.keys()].map((shard) =>
        (failure === undefined ? sink.finish(shard) : sink.fail(shard, failure.error)).catch(
          (error: unknown) => pool.stop(error),
        ),
      ),
    );
  };

  /** The group that a lane works on next: one with room for it, the next one, or the one where most remains. */
  const choose = async (): Promise<OpenGroup<S> | undefined> => {
    const withTasks = () => [...open].filter(({ remaining }) => remaining.length > 0);
    do {
      const roomy = withTasks().find(({ lanes, files }) => lanes < files.outputs.size);
      if (roomy !== undefined) return roomy;
      // Helping is better than waiting for the disk.
      if (endings.size >= mostEnding && withTasks().length > 0) break;
    } while (!pool.stopped && (await openNext()));
    return withTasks().sort((a, b) => b.remaining.length - a.remaining.length)[0];
  };

  /** One lane chooses at a time; the next one sees what it has opened. */
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
    // A task that is taken is carried out: what remains says whether the group is done.
    while (!pool.stopped) {
      const task = group.remaining.pop();
      if (task === undefined) break;
      group.outstanding += 1;
      try {
        await carryOut(task, group.files, programs, pool, inputs, sink);
        for (const [shard, extents] of extentsOf(task)) sink.wrote?.(shard, extents);
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

/** True for a task all of whose bytes an earlier run has written. */
export const isDone = <S>(task: Task<S>, sink: ShardSink<S>): boolean =>
  sink.has !== undefined &&
  [...extentsOf(task)].every(([shard, extents]) =>
    extents.every((extent) => sink.has?.(shard, extent) === true),
  );

const carryOut = async <S>(
  { pieces }: Task<S>,
  files: OpenFiles<S>,
  programs: Programs,
  pool: WorkerPool,
  inputs: InputFiles,
  sink: ShardSink<S>,
): Promise<void> => {
  const emitted = await Promise.all(pieces.map(({ slab }) => programs.of(slab)));
  const result = await pool.run(pieces.map((piece, index) => jobOf(piece, files, emitted[index])));
  if (result.ok) return;
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
    sources.map((source) => inputs.pathOf(source)),
  );
};
