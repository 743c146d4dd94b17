import { constants, type FileHandle, open, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { LayerloomError } from '../../base/errors/errors.js';
import { valueAt } from '../../base/errors/lookup.js';
import { writeFailed } from '../../base/files/writing.js';
import type { KeptSums } from '../../methods/operations/program/lowering.js';
import { sourcesOfTensors } from '../../plan/operands.js';
import type { PlannedShard, PlannedTensor } from '../../plan/plan.js';
import type { Extent } from '../../tensor/extent.js';
import type { ShardSink } from '../compute/make-shards.js';
import type { Factors } from '../compute/measures/factorise.js';
import { type NonFiniteValue, refusedNonFinite } from '../compute/measures/non-finite.js';
import type { InputFiles } from '../input-files.js';
import { makeDirectories } from './durable.js';
import { covers, type Extents, Journal } from './journal.js';
import { beginShardFile } from './shard-file.js';
import type { Staging } from './staging.js';

/** Bytes of a shard between journal entries. A crash loses at most these, and the running tasks. */
const unrecordedBytes = 256 * 1024 * 1024;

interface OpenShard {
  readonly name: string;
  readonly file: FileHandle;
  readonly madeOf: ReadonlySet<string>;
  unrecorded: Extent[];
}

/** The shards of a merge, in the staging directory. Bytes are synced, then journalled. */
export class JournalledShards implements ShardSink<PlannedShard> {
  readonly #directory: string;
  readonly #done: Extents;
  readonly #journal: Journal;
  readonly #inputs: InputFiles;
  readonly #allowNonFinite: boolean;
  readonly #open = new Map<PlannedShard, OpenShard>();
  readonly factors = new Map<string, Factors>();
  readonly changes = new Map<string, KeptSums>();
  /** Runs syncs one by one while threads keep writing. */
  #queue: Promise<void> = Promise.resolve();
  #failure: LayerloomError | undefined;

  private constructor(
    { checkpoint, done }: Staging,
    journal: Journal,
    inputs: InputFiles,
    allowNonFinite: boolean,
  ) {
    this.#directory = checkpoint;
    this.#done = done;
    this.#journal = journal;
    this.#inputs = inputs;
    this.#allowNonFinite = allowNonFinite;
  }

  static async open(
    staging: Staging,
    inputs: InputFiles,
    allowNonFinite: boolean,
  ): Promise<JournalledShards> {
    const journal = await Journal.open(staging.journal, staging.done);
    return new JournalledShards(staging, journal, inputs, allowNonFinite);
  }

  /**
   * Begins a shard and returns its descriptor.
   *
   * @throws WRITE_FAILED, INPUT_CHANGED, also if a queued sync has failed since the last call
   */
  async begin(shard: PlannedShard): Promise<number> {
    this.#throwFailure();
    let file: FileHandle | undefined;
    try {
      file = await this.#openFile(shard.file);
      await beginShardFile(file, shard);
    } catch (cause) {
      await file?.close();
      throw this.#failed(shard.file, cause);
    }
    const sources = sourcesOfTensors(shard.tensors);
    const madeOf = new Set(sources.map(this.#inputs.pathOf));
    this.#open.set(shard, { name: shard.file, file, madeOf, unrecorded: [] });
    return file.fd;
  }

  factorised(matrix: string, factors: Factors): void {
    this.factors.set(matrix, factors);
  }

  kept({ expression }: PlannedTensor, sums: KeptSums): void {
    if (expression.kind === 'quantise') this.changes.set(expression.of, sums);
  }

  has(shard: PlannedShard, extent: Extent): boolean {
    return covers(this.#done.get(shard.file) ?? [], extent);
  }

  isBegun(shard: PlannedShard): boolean {
    return this.#done.has(shard.file);
  }

  /**
   * Queues a sync every 256 MiB.
   *
   * @throws as `begin`, so that a full disk stops the merge soon
   */
  wrote(of: PlannedShard, extents: readonly Extent[]): void {
    this.#throwFailure();
    const shard = valueAt(this.#open, of);
    shard.unrecorded.push(...extents);
    const bytes = shard.unrecorded.reduce((total, { begin, end }) => total + end - begin, 0);
    if (bytes >= unrecordedBytes) this.#record(shard);
  }

  allowsNonFinite(): boolean {
    return this.#allowNonFinite;
  }

  /**
   * Journals the shard's remaining bytes.
   *
   * @throws as `begin`, and NON_FINITE
   */
  async finish(shard: PlannedShard, nonFinite: NonFiniteValue | undefined): Promise<void> {
    this.#recordAndClose(shard, valueAt(this.#open, shard));
    await this.#queue;
    this.#throwFailure();
    if (nonFinite !== undefined && !this.#allowNonFinite) throw refusedNonFinite(nonFinite);
  }

  /** Throws, so that a failed shard ends the merge; `close` journals earlier extents. */
  async fail(_shard: PlannedShard, error: unknown): Promise<void> {
    throw error;
  }

  nameOf({ file }: PlannedShard): string {
    return join(this.#directory, file);
  }

  /** Journals shards left open by a stop. Waits for all syncs. */
  async close(): Promise<void> {
    for (const [shard, opened] of [...this.#open]) this.#recordAndClose(shard, opened);
    await this.#queue;
    await this.#journal.close();
    this.#throwFailure();
  }

  /** Opens a shard's file. First removes a file without journalled extents, which may be a link to an input. */
  async #openFile(name: string): Promise<FileHandle> {
    const path = join(this.#directory, name);
    if (this.#done.has(name)) return await open(path, constants.O_RDWR | constants.O_NOFOLLOW);
    await rm(path, { force: true });
    await makeDirectories(dirname(path));
    return await open(path, 'wx+');
  }

  #recordAndClose(of: PlannedShard, shard: OpenShard): void {
    this.#open.delete(of);
    this.#record(shard);
    this.#queue = this.#queue
      .then(() => shard.file.close())
      .catch((cause: unknown) => {
        // NFS may report a full disk only at close. The next call throws the error, because nothing may be
        // awaiting the queue.
        this.#failure ??= this.#failed(shard.name, cause);
      });
  }

  #record(shard: OpenShard): void {
    const extents = shard.unrecorded;
    shard.unrecorded = [];
    this.#queue = this.#queue.then(async () => {
      if (this.#failure !== undefined) return;
      try {
        // Verifies inputs first, so that no run continues from bytes of a changed input.
        await this.#inputs.verify(shard.madeOf);
        await this.#journal.record(shard, extents);
      } catch (cause) {
        this.#failure = this.#failed(shard.name, cause);
      }
    });
  }

  #failed(name: string, cause: unknown): LayerloomError {
    return writeFailed(join(this.#directory, name), cause);
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}
