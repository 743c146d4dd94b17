import { constants, type FileHandle, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { LayerloomError, reasonOf } from '../../errors.js';
import { valueAt } from '../../lookup.js';
import { sourcesOf } from '../../plan/operands.js';
import type { PlannedShard } from '../../plan/plan.js';
import type { ShardSink } from '../compute/make-shards.js';
import type { Extent } from '../compute/tasks.js';
import type { InputFiles } from '../input-files.js';
import { covers, type Extents, Journal } from './journal.js';
import { beginShardFile } from './shard-file.js';
import type { Staging } from './staging.js';

/** Written bytes of a shard that may be missing from the journal: what a crash can cost, beside the tasks under way. */
const unrecordedBytes = 256 * 1024 * 1024;

interface OpenShard {
  readonly name: string;
  readonly file: FileHandle;
  /** Paths of the input files that it is made of. */
  readonly madeOf: ReadonlySet<string>;
  /** Written and not yet in the journal. */
  unrecorded: Extent[];
}

/**
 * The shards of one merge, in its staging directory: each is opened at its full size, its bytes are journalled once they are synced, and
 * it is closed when done. The sink of a merge.
 */
export class JournalledShards implements ShardSink<PlannedShard> {
  readonly #directory: string;
  /** Of shards that an earlier run began. */
  readonly #done: Extents;
  readonly #journal: Journal;
  readonly #inputs: InputFiles;
  readonly #open = new Map<PlannedShard, OpenShard>();
  /** Syncs, one behind the other, while threads go on writing. */
  #queue: Promise<void> = Promise.resolve();
  #failure: LayerloomError | undefined;

  private constructor({ checkpoint, done }: Staging, journal: Journal, inputs: InputFiles) {
    this.#directory = checkpoint;
    this.#done = done;
    this.#journal = journal;
    this.#inputs = inputs;
  }

  static async open(staging: Staging, inputs: InputFiles): Promise<JournalledShards> {
    return new JournalledShards(staging, await Journal.open(staging.journal, staging.done), inputs);
  }

  /** @throws LayerloomError WRITE_FAILED, also for a sync that failed since the last call; INPUT_CHANGED likewise */
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
    const sources = shard.tensors.flatMap(({ expression }) => sourcesOf(expression));
    const madeOf = new Set(sources.map((source) => this.#inputs.pathOf(source)));
    this.#open.set(shard, { name: shard.file, file, madeOf, unrecorded: [] });
    return file.fd;
  }

  has(shard: PlannedShard, extent: Extent): boolean {
    return covers(this.#done.get(shard.file) ?? [], extent);
  }

  /** @throws LayerloomError as `begin`, so that a full disk stops the merge within 256 MiB */
  wrote(of: PlannedShard, extents: readonly Extent[]): void {
    this.#throwFailure();
    const shard = valueAt(this.#open, of);
    shard.unrecorded.push(...extents);
    const bytes = shard.unrecorded.reduce((total, { begin, end }) => total + end - begin, 0);
    if (bytes >= unrecordedBytes) this.#record(shard);
  }

  async finish(shard: PlannedShard): Promise<void> {
    this.#recordAndClose(shard, valueAt(this.#open, shard));
    await this.#queue;
    this.#throwFailure();
  }

  /** Leaves the shard open, for `close` to record what is written; one that fails ends the merge. */
  async fail(_shard: PlannedShard, error: unknown): Promise<void> {
    throw error;
  }

  nameOf({ file }: PlannedShard): string {
    return file;
  }

  /** Waits for every sync; shards still open, of a merge that was stopped, are recorded as far as they are written. */
  async close(): Promise<void> {
    for (const [shard, opened] of [...this.#open]) this.#recordAndClose(shard, opened);
    await this.#queue;
    await this.#journal.close();
    this.#throwFailure();
  }

  /**
   * A file that is this run's alone to write. One that an earlier run journalled it also wrote; anything else of that name may be a link to
   * an input, and goes.
   */
  async #openFile(name: string): Promise<FileHandle> {
    const path = join(this.#directory, name);
    if (this.#done.has(name)) return await open(path, constants.O_RDWR | constants.O_NOFOLLOW);
    await rm(path, { force: true });
    return await open(path, 'wx+');
  }

  #recordAndClose(of: PlannedShard, shard: OpenShard): void {
    this.#open.delete(of);
    this.#record(shard);
    this.#queue = this.#queue
      .then(() => shard.file.close())
      .catch((cause: unknown) => {
        // NFS may say only now that the disk is full. Kept for the next call: the queue may have nobody waiting for it yet.
        this.#failure ??= this.#failed(shard.name, cause);
      });
  }

  #record(shard: OpenShard): void {
    const extents = shard.unrecorded;
    shard.unrecorded = [];
    this.#queue = this.#queue.then(async () => {
      if (this.#failure !== undefined) return;
      try {
        // What is made of an input that was written since the run began must not be continued.
        await this.#inputs.verify(shard.madeOf);
        await this.#journal.record(shard, extents);
      } catch (cause) {
        this.#failure = cause instanceof LayerloomError ? cause : this.#failed(shard.name, cause);
      }
    });
  }

  #failed(name: string, cause: unknown): LayerloomError {
    return new LayerloomError(
      'WRITE_FAILED',
      { file: join(this.#directory, name), reason: reasonOf(cause) },
      { cause },
    );
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }
}
