import { stat, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { makeShards } from '../engine/compute/make-shards.js';
import { InputFiles } from '../engine/input-files.js';
import { makeDirectories } from '../engine/output/durable.js';
import { type Link, links } from '../engine/output/link.js';
import { checkThreads, type Progress, reporter } from '../engine/run-plan.js';
import { WorkerPool } from '../engine/threads/pool.js';
import { LayerloomError } from '../errors.js';
import { instructionSets } from '../native/addon.js';
import { sourcesOf } from '../plan/plan.js';
import type { PlanOptions } from '../plan/plan-recipe.js';
import { ShardStore } from '../store/shard-store.js';
import { assemble, isAssembled } from './assemble.js';
import {
  type BatchMerge,
  type BatchPlan,
  type BatchPlanOptions,
  groupsOf,
  type PlannedMerge,
  planBatch,
  planOf,
} from './batch-plan.js';
import { type BatchCost, costOf } from './cost.js';
import type { DistinctShard, ShardGroup } from './groups.js';
import { StoreSink } from './store-sink.js';

/** Where a merge of a batch has come to. */
export type MergeState = 'pending' | 'done' | 'failed';

export interface MergeOutcome {
  readonly name: string;
  readonly state: MergeState;
  /** Of its shards, those that another merge or an earlier run has made, and those made for it first. */
  readonly shards: { readonly shared: number; readonly new: number };
  /** Of inputs and of shards, for those that were made for it first. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly error?: { readonly code: string; readonly message: string };
}

export interface BatchOptions extends PlanOptions, Omit<BatchPlanOptions, 'assume'> {
  /** The directory of the merges. */
  out: string;
  /** The store's; by default `.store` in it. */
  store?: string | undefined;
  /** How merges come by their shards; by default `hard`. */
  link?: Link | undefined;
  /** Make the shards of the i-th of n parts (from 0 on) into the store, and no merge. */
  range?: { readonly index: number; readonly count: number } | undefined;
  /** Called when all is decided, before anything is written. */
  onPlan?: ((plan: BatchPlan<BatchMerge>, cost: BatchCost) => void | Promise<void>) | undefined;
  /** Called when a merge is done or has failed. */
  onMerge?: ((outcome: MergeOutcome) => void | Promise<void>) | undefined;
}

export interface BatchResult {
  readonly merges: readonly MergeOutcome[];
  readonly cost: BatchCost;
  /** Of inputs and of shards, by this run. */
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly threads: number;
  readonly seconds: number;
  readonly warnings: readonly string[];
}

/**
 * Makes many merges over one store: plans all, makes each distinct shard once, in groups that read their inputs once, and links every merge together as soon as
 * its shards are there. A merge that fails leaves the others running.
 *
 * @throws LayerloomError the codes of `planBatch`; LINK_REFUSED, DISK_SPACE, STORE_INVALID, WRITE_FAILED, INTERRUPTED
 */
export const runBatch = async (
  merges: readonly BatchMerge[],
  options: BatchOptions,
): Promise<BatchResult> => {
  const started = performance.now();
  const threads = checkThreads(options.threads);
  const link = checkLink(options.link);
  const signal = options.signal ?? new AbortController().signal;
  instructionSets();
  const plan = await planBatch(merges, options);
  await makeDirectories(options.out);
  const store = await ShardStore.open(options.store ?? join(options.out, '.store'), { create: true });
  await checkDevices(store.directory, options.out, link);
  await store.registerExperiment(options.out, registration(plan, false));
  await store.clearLeftovers();

  const present = new Set<string>();
  for (const key of plan.shards.keys()) if ((await store.lookup(key)) !== undefined) present.add(key);
  const mine = keysInRange(plan, options.range);
  const groups = groupsOf(plan, (key) => mine.has(key) && !present.has(key));
  const cost = costOf(plan, groups);
  await options.onPlan?.(plan, cost);
  await checkSpace(store.directory, cost.bytesToWrite);

  await using inputs = await InputFiles.open(plan.inputs, sourcesIn(groups), linkedIn(plan, options.range));
  await using pool = new WorkerPool(threads, signal);
  const tracker = new Tracker(plan, options, store, inputs, link, readsOf(plan, groups));
  const sink = new StoreSink(store, pool, inputs, {
    onReady: (shard, madeHere) => tracker.ready(shard.key, madeHere ? shard.bytes : undefined),
    onFailed: (shard, error) => tracker.failed(shard.key, error),
  });
  const report = reporter(options.onProgress, pool);
  const tick = () => report(progressOf(pool, sink, cost, tracker));
  const timer = setInterval(tick, 100);
  try {
    for (const key of present) await tracker.ready(key, undefined);
    await makeAll(groups, pool, inputs, sink, store, signal);
    await tracker.settled();
  } catch (error) {
    const reason = signal.aborted
      ? new LayerloomError('INTERRUPTED', { batch: true }, { cause: error })
      : error;
    await tracker.stop(reason);
    throw reason instanceof LayerloomError && resumable.includes(reason.code)
      ? reason.keptIn(options.range === undefined ? options.out : store.directory)
      : reason;
  } finally {
    clearInterval(timer);
    tick();
    await sink.close();
  }
  await store.registerExperiment(options.out, registration(plan, options.range === undefined));
  return {
    merges: tracker.outcomes(),
    cost,
    bytesRead: pool.counters.bytesRead,
    bytesWritten: pool.counters.bytesWritten + sink.headerBytes,
    threads,
    seconds: (performance.now() - started) / 1000,
    warnings: [...plan.warnings, ...tracker.warnings],
  };
};

/** What may be continued when its cause is gone. */
const resumable: readonly string[] = ['INTERRUPTED', 'DISK_SPACE', 'WRITE_FAILED', 'INPUT_CHANGED'];

/** Makes what is to be made here, again shard by shard where a group failed, and then what others claimed and did not finish. */
const makeAll = async (
  groups: readonly ShardGroup[],
  pool: WorkerPool,
  inputs: InputFiles,
  sink: StoreSink,
  store: ShardStore,
  signal: AbortSignal,
): Promise<void> => {
  const make = (some: readonly DistinctShard[]) =>
    makeShards(
      groupsOf({ shards: new Map(some.map((shard) => [shard.key, shard])) }, () => true),
      pool,
      inputs,
      sink,
    );
  await makeShards(groups, pool, inputs, sink);
  while (sink.again.size + sink.elsewhere.size > 0) {
    for (const shard of [...sink.again]) {
      sink.again.delete(shard);
      await make([shard]);
    }
    if (sink.elsewhere.size === 0) continue;
    const waiting = new Map([...sink.elsewhere].map((shard) => [shard.key, shard]));
    const found = await store.waitFor([...waiting.keys()], { signal });
    const ended = found.map((key) => waiting.get(key) as DistinctShard);
    for (const shard of ended) sink.elsewhere.delete(shard);
    await make(ended);
  }
};

/** Bytes of inputs by the merge that needs them first: each is read once for all. */
const readsOf = (
  { merges }: BatchPlan<BatchMerge>,
  groups: readonly ShardGroup[],
): ReadonlyMap<PlannedMerge<BatchMerge>, number> => {
  const toMake = new Map(groups.flatMap(({ shards }) => shards.map((shard) => [shard.key, shard] as const)));
  const seen = new Set<string>();
  const reads = new Map<PlannedMerge<BatchMerge>, number>();
  for (const merge of merges)
    for (const { key } of merge.shards) {
      const shard = toMake.get(key);
      if (shard === undefined) continue;
      toMake.delete(key);
      for (const { input, file, begin, end } of sourcesIn([{ shards: [shard], slabs: [] }])) {
        const range = `${input} ${file} ${begin}`;
        if (!seen.has(range)) reads.set(merge, (reads.get(merge) ?? 0) + end - begin);
        seen.add(range);
      }
    }
  return reads;
};

const sourcesIn = (groups: readonly ShardGroup[]) =>
  groups.flatMap(({ shards }) =>
    shards.flatMap(({ tensors }) => tensors.flatMap(({ expression }) => sourcesOf(expression))),
  );

/** Input files that merges link as they stand. */
const linkedIn = ({ merges }: BatchPlan<BatchMerge>, range: BatchOptions['range']): ReadonlySet<string> =>
  new Set(
    range === undefined
      ? merges.flatMap(({ shards }) => shards.flatMap(({ verbatim }) => verbatim ?? []))
      : [],
  );

/**
 * The shards of a part. Parts are of about the same size: groups are dealt out, largest first, to the part that has least. All shards are, those in the
 * store too: parts that begin at different times divide them alike, and none is left out.
 */
const keysInRange = (
  plan: BatchPlan<BatchMerge>,
  range: BatchOptions['range'],
): { has(key: string): boolean } => {
  if (range === undefined) return plan.shards;
  const bytes = ({ shards }: ShardGroup) => shards.reduce((total, shard) => total + shard.bytes, 0);
  const loads = Array.from({ length: range.count }, () => 0);
  const mine = new Set<string>();
  for (const group of groupsOf(plan, () => true).sort((a, b) => bytes(b) - bytes(a))) {
    const least = loads.indexOf(Math.min(...loads));
    loads[least] = (loads[least] ?? 0) + bytes(group);
    if (least === range.index) for (const { key } of group.shards) mine.add(key);
  }
  return mine;
};

const registration = ({ merges }: BatchPlan<BatchMerge>, finished: boolean) => ({
  merges: merges.map(({ merge, shards }) => ({
    path: merge.name,
    keys: shards.filter(({ verbatim }) => verbatim === undefined).map(({ key }) => key),
  })),
  finished,
});

const progressOf = (pool: WorkerPool, sink: StoreSink, cost: BatchCost, tracker: Tracker): Progress => ({
  phase: 'merge',
  done: pool.counters.bytesWritten + sink.headerBytes,
  total: cost.bytesToWrite,
  merges: { done: tracker.done, total: cost.merges },
  bytesRead: pool.counters.bytesRead,
});

const checkLink = (link: Link = 'hard'): Link => {
  if (!links.includes(link))
    throw new LayerloomError('INVALID_PARAMETER', {
      parameter: 'link',
      value: link,
      expected: links.join(', '),
    });
  return link;
};

const checkDevices = async (store: string, out: string, link: Link): Promise<void> => {
  if (link !== 'hard' && link !== 'reflink') return;
  const [a, b] = await Promise.all([stat(store), stat(out)]);
  if (a.dev !== b.dev)
    throw new LayerloomError('LINK_REFUSED', {
      file: store,
      link,
      reason: `the store is on another file system than ${out}`,
    });
};

const checkSpace = async (store: string, needed: number): Promise<void> => {
  const { bavail, bsize } = await statfs(store);
  if (needed > bavail * bsize)
    throw new LayerloomError('DISK_SPACE', { out: store, needed, available: bavail * bsize });
};

/** Errors of one merge that every other merge would meet too. */
const stopsAll: readonly string[] = ['WRITE_FAILED', 'LINK_REFUSED', 'DISK_SPACE', 'INPUT_CHANGED'];

/** Which shards merges still wait for; puts a merge together when it waits for none. */
class Tracker {
  readonly #plan: BatchPlan<BatchMerge>;
  readonly #options: BatchOptions;
  readonly #store: ShardStore;
  readonly #inputs: InputFiles;
  readonly #link: Link;
  /** By key, the merges that need it. */
  readonly #needing = new Map<string, Set<PlannedMerge<BatchMerge>>>();
  readonly #waiting = new Map<PlannedMerge<BatchMerge>, Set<string>>();
  readonly #made = new Map<string, number>();
  readonly #outcomes = new Map<PlannedMerge<BatchMerge>, MergeOutcome>();
  readonly #reads: ReadonlyMap<PlannedMerge<BatchMerge>, number>;
  readonly warnings: string[] = [];
  /** Merges are put together a few at a time, so that the disk syncs their small files together. */
  readonly #lanes: Promise<void>[] = Array.from({ length: 8 }, () => Promise.resolve());
  #next = 0;
  #stopped: unknown;
  done = 0;

  constructor(
    plan: BatchPlan<BatchMerge>,
    options: BatchOptions,
    store: ShardStore,
    inputs: InputFiles,
    link: Link,
    reads: ReadonlyMap<PlannedMerge<BatchMerge>, number>,
  ) {
    this.#reads = reads;
    this.#plan = plan;
    this.#options = options;
    this.#store = store;
    this.#inputs = inputs;
    this.#link = link;
    for (const merge of plan.merges) {
      const keys = new Set(
        merge.shards.filter(({ verbatim }) => verbatim === undefined).map(({ key }) => key),
      );
      this.#waiting.set(merge, keys);
      for (const key of keys) {
        const needing = this.#needing.get(key) ?? new Set();
        this.#needing.set(key, needing.add(merge));
      }
      if (keys.size === 0) this.#putTogether(merge);
    }
  }

  /** @param made its bytes, where it was made by this run */
  async ready(key: string, made: number | undefined): Promise<void> {
    if (made !== undefined) this.#made.set(key, made);
    for (const merge of this.#needing.get(key) ?? []) {
      const waiting = this.#waiting.get(merge);
      waiting?.delete(key);
      if (waiting?.size === 0 && !this.#outcomes.has(merge)) this.#putTogether(merge);
    }
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  async failed(key: string, error: unknown): Promise<void> {
    for (const merge of this.#needing.get(key) ?? [])
      if (!this.#outcomes.has(merge)) await this.#fail(merge, error);
  }

  /** Waits for the merges that are being put together. @throws what stops the batch */
  async settled(): Promise<void> {
    await Promise.all(this.#lanes);
    if (this.#stopped !== undefined) throw this.#stopped;
  }

  /** Puts no more merges together, and waits for those under way. */
  async stop(reason: unknown): Promise<void> {
    this.#stopped ??= reason;
    await Promise.all(this.#lanes);
  }

  outcomes(): MergeOutcome[] {
    return this.#plan.merges.map((merge) => this.#outcomes.get(merge) ?? this.#outcomeOf(merge, 'pending'));
  }

  #putTogether(merge: PlannedMerge<BatchMerge>): void {
    if (this.#options.range !== undefined) return;
    const lane = this.#next++ % this.#lanes.length;
    this.#lanes[lane] = (this.#lanes[lane] as Promise<void>).then(async () => {
      if (this.#stopped !== undefined || this.#options.signal?.aborted) return;
      const out = join(this.#options.out, merge.merge.name);
      try {
        if (!(await isAssembled(out, merge.shards, this.#store))) {
          const plan = await planOf(merge, this.#plan, this.#options);
          this.warnings.push(
            ...(await assemble(plan, merge.shards, out, this.#store, this.#inputs, this.#link)),
          );
        }
        this.done += 1;
        await this.#settle(merge, this.#outcomeOf(merge, 'done'));
      } catch (error) {
        if (error instanceof LayerloomError && stopsAll.includes(error.code)) this.#stopped ??= error;
        await this.#fail(merge, error);
      }
    });
  }

  async #fail(merge: PlannedMerge<BatchMerge>, error: unknown): Promise<void> {
    const code = error instanceof LayerloomError ? error.code : 'INTERNAL';
    const message = error instanceof Error ? error.message : String(error);
    await this.#settle(merge, { ...this.#outcomeOf(merge, 'failed'), error: { code, message } });
  }

  async #settle(merge: PlannedMerge<BatchMerge>, outcome: MergeOutcome): Promise<void> {
    this.#outcomes.set(merge, outcome);
    try {
      await this.#options.onMerge?.(outcome);
    } catch (error) {
      this.#stopped ??= error;
    }
  }

  /** A shard that several merges share counts as new for the first of them. */
  #outcomeOf(merge: PlannedMerge<BatchMerge>, state: MergeState): MergeOutcome {
    let [fresh, bytesWritten] = [0, 0];
    for (const { key } of merge.shards) {
      const bytes = this.#made.get(key);
      const [first] = this.#needing.get(key) ?? [];
      if (bytes === undefined || first !== merge) continue;
      fresh += 1;
      bytesWritten += bytes;
    }
    return {
      name: merge.merge.name,
      state,
      shards: { shared: merge.shards.length - fresh, new: fresh },
      bytesRead: fresh === 0 ? 0 : (this.#reads.get(merge) ?? 0),
      bytesWritten,
    };
  }
}
